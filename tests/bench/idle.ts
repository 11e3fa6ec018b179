// Measures processor time and memory of an idle system, in turns: one process for all services with little
// memory, as `npm start` has it, and a process for each.
import { setTimeout as pause } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { median, reportComparison, reportFigure } from '../lab/report/results.ts'
import { startOwnSystem } from '../lab/system/own-system.ts'
import { type Figures, groupProcesses, measuredWhole, memoryOf, sum } from '../lab/system/process-groups.ts'
import { measureIdle } from './load-process.ts'

const size = z.object({
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('Turns of each'),
  IDLE_SECONDS: integer({ min: 1, max: 300 }).default(20).describe('How long it is looked at'),
})
/** Until what a start leaves behind is done. */
const CALM_MS = 8_000
/** Milliseconds of one core a second, everything counted. */
const MOST_MS = 50

const LAYOUTS = {
  together: { together: true, memory: 'small' },
  processes: { together: false, memory: 'default' },
} as const

interface Rest {
  idle: Figures
  memory: Figures
}

const { RUNS, IDLE_SECONDS } = parseConfig(size, process.env)
const rests: Record<keyof typeof LAYOUTS, Rest[]> = { together: [], processes: [] }
for (let turn = 0; turn < RUNS; turn++)
  for (const name of ['together', 'processes'] as const)
    rests[name].push(await measuredWhole(() => rest(LAYOUTS[name])))
for (const [name, [first]] of Object.entries(rests)) console.log(name, first)

row('milliseconds of a processor a second at rest, everything counted', ' ms/s', ({ idle }) => sum(idle))
row('memory at rest, everything counted', ' MiB', ({ memory }) => sum(memory))
const idle = median(rests.together.map(({ idle }) => sum(idle)))
reportFigure({
  row: 'a processor at rest with one process for all services, ms/s',
  ...{ values: [idle], unit: ' ms/s', reach: { most: MOST_MS } },
})

async function rest(layout: (typeof LAYOUTS)[keyof typeof LAYOUTS]): Promise<Rest> {
  const own = await startOwnSystem({ instances: {}, ...layout, say: console.error })
  try {
    const groups = groupProcesses(own)
    await pause(CALM_MS)
    return { idle: await measureIdle(() => groups, IDLE_SECONDS), memory: memoryOf(groups) }
  } finally {
    await own.stop()
  }
}

function row(title: string, unit: string, figureOf: (rest: Rest) => number): void {
  reportComparison({
    row: `${title}: one process for all services, and one for each`,
    ...{ ours: rests.together.map(figureOf), others: rests.processes.map(figureOf), unit },
  })
}
