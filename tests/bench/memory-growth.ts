import { reportComparison } from '../lab/report/results.ts'
import { type Figures, mapValues, type ProcessGroups } from '../lab/system/process-groups.ts'
import { residentKib } from '../lab/system/processes.ts'
import { exactlyOnce } from '../lab/verdict/arrivals.ts'
import type { LoadTask } from './end-to-end-load.ts'
import type { LoadProcess } from './load-process.ts'

const PARTS = 10
const PART_SECONDS = 6 * 60 * 60
/** More than that is growth; readings of one moment differ by as much. */
const MOST = 1.1
/** A store's cache and a broker's log fill up to their own bounds. */
const CACHES = new Set(['mongod', 'Wine', 'RabbitMQ', 'Redis'])

/** The memory of the second fifth and of the last one, in MiB, of readings after each tenth. */
export function growthOf(readings: readonly number[]): { second: number; last: number; hasGrown: boolean } {
  const fifth = (from: number) => ((readings[from] ?? Number.NaN) + (readings[from + 1] ?? Number.NaN)) / 2
  const [second, last] = [fifth(2), fifth(PARTS - 2)]
  return { second, last, hasGrown: !(last <= second * MOST) }
}

/**
 * Sends messages as fast as they are taken, prints the resident memory of each process after each tenth, and reports whether
 * it has grown between the second and the last fifth. Resolves with whether each message was delivered exactly once.
 */
export async function measureGrowth(options: {
  messages: number
  load: LoadProcess
  groups: ProcessGroups
  task: Pick<LoadTask, 'target' | 'connections' | 'calmSeconds'>
}): Promise<boolean> {
  const { messages, load, groups, task } = options
  const readings: Figures[] = []
  let isExact = true
  for (let part = 1; part <= PARTS; part++) {
    const own = { name: `growth-${part}`, seconds: PART_SECONDS, messages: Math.ceil(messages / PARTS) }
    isExact = exactlyOnce(await load.carryOut({ ...task, ...own })) && isExact
    const reading = residentOf(groups)
    readings.push(reading)
    console.log(`resident MiB after ${part} of ${PARTS} parts:`, mapValues(reading, Math.round))
  }
  for (const name of Object.keys(groups)) reportGrowth(name, growthOf(readings.map((one) => one[name] ?? 0)))
  return isExact
}

function reportGrowth(name: string, { second, last, hasGrown }: ReturnType<typeof growthOf>): void {
  console.log(
    `${name}: ${second.toFixed(0)} MiB in the second fifth, ${last.toFixed(0)} in the last: ${hasGrown ? 'it has grown' : 'no growth'}`,
  )
  reportComparison({
    row: `resident memory of ${name} in the last fifth, and in the second`,
    ...{ ours: [last], others: [second], unit: ' MiB' },
    ...(CACHES.has(name) ? {} : { reach: { most: MOST } }),
  })
}

function residentOf(groups: ProcessGroups): Figures {
  return mapValues(groups, ({ pids }) => pids.reduce((sum, pid) => sum + residentKib({ pid }), 0) / 1_024)
}
