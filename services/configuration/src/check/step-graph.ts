import type { Database } from '../store/database.ts'
import { LIVE, listIndex } from '../store/indexes.ts'
import type { StoredDocument } from '../store/stored-document.ts'

const MAX_STEPS = 200_000

/** How a workspace's steps follow each other. */
export interface StepGraph {
  /** The step after each step; null where it is the last. */
  next: ReadonlyMap<number, number | null>
  /** The steps that a workflow or another step leads to. */
  entered: ReadonlySet<number>
  /** Every way round, from its lowest step, by that step. */
  cycles: ReadonlyMap<number, readonly number[]>
  /** There are more than 200,000 steps; what lies beyond is missing here. */
  cut: boolean
}

export async function loadStepGraph(database: Database, workspace: number): Promise<StepGraph> {
  const next = new Map<number, number | null>()
  const entered = new Set<number>()
  const steps = database
    .documents('steps')
    .find({ '_id.workspace': workspace, ...LIVE })
    .project<Pick<StoredDocument, '_id' | 'keys'>>({ _id: 1, 'keys.next': 1 })
    .hint(listIndex({ filter: 'next', sort: '_id' }))
    .limit(MAX_STEPS + 1)
  for await (const { _id, keys } of steps) {
    const following = typeof keys?.next === 'number' ? keys.next : null
    next.set(_id.id, following)
    if (following !== null && following !== _id.id) entered.add(following)
  }
  const workflows = database
    .documents('workflows')
    .find({ '_id.workspace': workspace, ...LIVE })
    .project<Pick<StoredDocument, 'keys'>>({ 'keys.steps': 1, 'keys.firstStep': 1 })
    .limit(MAX_STEPS)
  for await (const { keys } of workflows) {
    for (const id of [keys?.firstStep, keys?.steps].flat()) if (typeof id === 'number') entered.add(id)
  }
  return { next, entered, cycles: cyclesIn(next), cut: next.size > MAX_STEPS }
}

/** The steps from `first` on, until they end or come round. */
export function stepsFrom({ next }: Pick<StepGraph, 'next'>, first: number): Set<number> {
  const reached = new Set<number>()
  for (let step: number | null | undefined = first; typeof step === 'number'; step = next.get(step)) {
    if (reached.has(step)) break
    reached.add(step)
  }
  return reached
}

function cyclesIn(next: StepGraph['next']): Map<number, number[]> {
  const done = new Set<number>()
  const cycles = new Map<number, number[]>()
  for (const start of next.keys()) {
    const path: number[] = []
    let step: number | null | undefined = start
    const onPath = new Set<number>()
    while (typeof step === 'number' && !done.has(step) && !onPath.has(step)) {
      onPath.add(step)
      path.push(step)
      step = next.get(step)
    }
    if (typeof step === 'number' && onPath.has(step)) addCycle(cycles, path.slice(path.indexOf(step)))
    for (const passed of path) done.add(passed)
  }
  return cycles
}

function addCycle(cycles: Map<number, number[]>, cycle: number[]): void {
  const lowest = cycle.indexOf(cycle.reduce((a, b) => Math.min(a, b)))
  const fromLowest = [...cycle.slice(lowest), ...cycle.slice(0, lowest)]
  if (fromLowest[0] !== undefined) cycles.set(fromLowest[0], fromLowest)
}
