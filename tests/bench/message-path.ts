import { reportComparison } from '../lab/report/results.ts'
import type { OwnSystem } from '../lab/system/own-system.ts'
import { makeParleyTarget, startLoad } from './load-process.ts'

const BURSTS = 3
const BURST = 5_000
/** So many that each partition has some. */
const OTHERS = 1_000
const CONNECTIONS = 64
const RATE = 100
const STEADY_SECONDS = 20
const MOST_SECONDS = 120
const CALM_SECONDS = 1
/** The bursts themselves differ by as much. */
const LEAST_SHARE = 0.9

interface PathFigures {
  /** Messages a second from the first post to the last arrival, of each burst. */
  perSecond: number[]
  /** Milliseconds from post to arrival at a steady rate. */
  p50: number
  p99: number
}

export type MessagePath = Awaited<ReturnType<typeof startMessagePath>>

/**
 * Messages of a workspace of its own from the API to an endpoint, to see what something else costs them. Another workspace
 * is active, too: beside others each runs fewer at once (docs/adr/0015), whatever they do.
 */
export async function startMessagePath(own: OwnSystem) {
  const load = await startLoad()
  const [target, other] = [
    await makeParleyTarget(own, load.url, 'path'),
    await makeParleyTarget(own, load.url, 'others'),
  ]
  const task = { target, connections: CONNECTIONS, seconds: MOST_SECONDS, calmSeconds: CALM_SECONDS }
  const burst = async (name: string) =>
    (await load.carryOut({ ...task, name, messages: BURST })).drainedPerSecond
  await load.carryOut({ ...task, target: other, name: 'others', messages: OTHERS })
  await burst('warm-up')
  return {
    async measure(name: string): Promise<PathFigures> {
      const perSecond: number[] = []
      for (let turn = 1; turn <= BURSTS; turn++) perSecond.push(await burst(`${name}-${turn}`))
      const steady = { ...task, name: `${name}-steady`, rate: RATE, seconds: STEADY_SECONDS }
      const { p50, p99 } = await load.carryOut(steady)
      return { perSecond, p50, p99 }
    },
    stop: () => load.stop(),
  }
}

/** Reports what the path did beside something, and before. */
export function reportPath(load: string, during: PathFigures, before: PathFigures): void {
  reportComparison({
    row: `messages a second beside ${load}, and before`,
    ...{ ours: during.perSecond, others: before.perSecond, unit: '/s', reach: { least: LEAST_SHARE } },
  })
  for (const quantile of ['p50', 'p99'] as const)
    reportComparison({
      row: `delivered at ${RATE}/s beside ${load}, and before, ${quantile}`,
      ...{ ours: [during[quantile]], others: [before[quantile]], digits: 1, unit: ' ms' },
    })
}
