import { type Figures, mapValues, sum } from '../lab/system/process-groups.ts'
import { exactlyOnce } from '../lab/verdict/arrivals.ts'
import type { MeasuredLoad } from './load-process.ts'

export interface LoadRun extends MeasuredLoad {
  /** Operations that each server is asked for with each message, beyond those without any. */
  questions: Figures
}

/** The results with so many webhooks and dispatchers. */
export interface InstanceRun {
  instances: number
  /** Messages a second of the steady load. */
  rate: number
  /** Milliseconds of processor time a second before any load. */
  idle: Figures
  /** Operations a second that each server is asked for meanwhile. */
  questions: Figures
  closed: LoadRun
  steady: LoadRun
  /** The memory and connections of each process after the loads, as the mean of its group. */
  holdings: Record<
    string,
    { instances: number; mebibytes: number; mongo: number; rabbitmq: number; redis: number }
  >
}

/** The processor time of each process for a message at the steady rate, with what it uses in any case. */
export function withIdle(run: { rate: number; idle: Figures; steady: MeasuredLoad }): Figures {
  const { rate, idle, steady } = run
  return mapValues(steady.micros, (micros, name) => micros + ((idle[name] ?? 0) * 1e3) / rate)
}

export function printCosts(run: InstanceRun): void {
  const { instances, idle, questions, closed, steady, holdings } = run
  console.log(`\nwebhooks: ${instances}, dispatchers: ${instances}; one each of the others`)
  console.table(
    Object.entries({ 'closed loop': closed, 'steady rate': steady }).map(([load, outcome]) => ({
      load,
      posted: outcome.posted,
      'posts/s': Math.round(outcome.postsPerSecond),
      'messages/s': Math.round(outcome.perSecond),
      'p50 ms': outcome.p50.toFixed(1),
      'p99 ms': outcome.p99.toFixed(1),
      'window s': outcome.seconds.toFixed(1),
      refused: outcome.refused,
      doubled: outcome.doubled,
      missing: outcome.missing,
      strange: outcome.strange,
      'exactly once': exactlyOnce(outcome) ? 'yes' : 'no',
    })),
  )
  const all = withIdle(run)
  const row = (name: string) => ({
    process: name,
    number: holdings[name]?.instances,
    'closed µs': Math.round(closed.micros[name] ?? 0),
    'steady µs': Math.round(steady.micros[name] ?? 0),
    'with idle': Math.round(all[name] ?? 0),
    'idle ms/s': (idle[name] ?? 0).toFixed(1),
    'MiB each': Math.round(holdings[name]?.mebibytes ?? 0),
    'to MongoDB': holdings[name]?.mongo,
    'to RabbitMQ': holdings[name]?.rabbitmq,
    'to Redis': holdings[name]?.redis,
  })
  console.log(
    'Processor time of a message beyond idle, and with it; client and endpoint are in neither. Connections of each',
  )
  console.table([
    ...Object.keys(holdings).map(row),
    {
      process: 'all',
      'closed µs': Math.round(sum(closed.micros)),
      'steady µs': Math.round(sum(steady.micros)),
      'with idle': Math.round(sum(all)),
      'idle ms/s': sum(idle).toFixed(1),
    },
  ])
  console.log(`Operations a second while idle: ${listed(questions)}`)
  console.log(
    `Operations a message: ${listed(closed.questions)} in the closed loop, ${listed(steady.questions)} at the steady rate`,
  )
}

const listed = (questions: Figures) =>
  Object.entries(questions)
    .map(([server, count]) => `${server} ${count.toFixed(1)}`)
    .join(', ')

/** How the cost of a message, and of nothing, grows with the instances: a + b × instances, by least squares. */
export function printFits(runs: readonly InstanceRun[]): void {
  const kinds: [string, (run: InstanceRun) => Figures][] = [
    ['closed µs', ({ closed }) => closed.micros],
    ['steady µs', ({ steady }) => steady.micros],
    ['idle ms/s', ({ idle }) => idle],
    ['idle, asked/s', ({ questions }) => questions],
  ]
  const row = (name: string, kind: string, figureOf: (run: InstanceRun) => number) => {
    const { base, slope, residual } = fitLine(runs.map((run) => [run.instances, figureOf(run)]))
    return {
      process: name,
      what: kind,
      a: base.toFixed(1),
      b: slope.toFixed(1),
      residual: residual.toFixed(1),
    }
  }
  console.log('\na + b × instances, by least squares; the residual is the root of the mean square')
  console.table(
    kinds.flatMap(([kind, of]) => [
      ...Object.keys(runs[0] ? of(runs[0]) : {}).map((name) => row(name, kind, (run) => of(run)[name] ?? 0)),
      row('all', kind, (run) => sum(of(run))),
    ]),
  )
}

/** A straight line, and how far the points are from it. */
interface Line {
  /** Where x is 0, and what each further 1 of x adds. */
  base: number
  slope: number
  /** Root of the mean square of the distances, in the unit of y. */
  residual: number
}

/** The line through points (x, y) by least squares; throws a RangeError unless there are two different x. */
export function fitLine(points: ReadonlyArray<readonly [x: number, y: number]>): Line {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const spread = mean(points.map(([x]) => (x - meanX) ** 2))
  if (!(spread > 0)) throw new RangeError('A line needs points at two different x')
  const slope = mean(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread
  const base = meanY - slope * meanX
  return { base, slope, residual: Math.sqrt(mean(points.map(([x, y]) => (y - base - slope * x) ** 2))) }
}
