import type { Database } from '../store/database.ts'
import { LIVE, listIndex, type StoredDocument } from '../store/stored-document.ts'
import type { Batch, Finding, StepGraph } from './finding.ts'

const SHOWN = 10
const MAX_LISTED = 1_000
const MAX_STEPS = 200_000

/** Steps that nothing leads to, and ways that come round. */
export function checkSteps({ documents, steps }: Batch): Finding[] {
  if (steps.cut) return []
  return documents.flatMap(({ _id }) => {
    const found: Finding[] = []
    const add = (code: Finding['code'], path: string, message: string) =>
      found.push({ code, resource: 'steps', _id, path, message })
    if (!steps.entered.has(_id)) add('unreachable_step', '', 'no workflow and no other step leads here')
    const cycle = steps.cycles.get(_id)
    if (cycle) {
      const path = `${cycle.slice(0, SHOWN).join(' → ')}${cycle.length > SHOWN ? ' → …' : ''} → ${_id}`
      add('step_cycle', '/next', `the steps come round: ${path}`)
    }
    return found
  })
}

/** Steps of a workflow, of the first 1,000 it lists, that its first step does not lead to. */
export function checkWorkflows({ documents, steps }: Batch): Finding[] {
  return documents.flatMap((workflow): Finding[] => {
    const at = { resource: 'workflows', _id: workflow._id } as const
    if (steps.cut)
      return [{ ...at, code: 'not_checked', path: '/steps', message: 'there are too many steps' }]
    const listed = Array.isArray(workflow.steps) ? (workflow.steps as number[]) : []
    const { firstStep } = workflow
    const reached = typeof firstStep === 'number' ? stepsFrom(steps, firstStep) : new Set<number>()
    return listed.slice(0, MAX_LISTED).flatMap((id, index) => {
      if (reached.has(id)) return []
      const message = `the first step does not lead to steps/${id}`
      return [{ ...at, code: 'unreachable_step', path: `/steps/${index}`, message }]
    })
  })
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
    next.set(_id.id, typeof keys?.next === 'number' ? keys.next : null)
  }
  // Of those that are there: workflows may list very many that are not.
  const enter = (id: unknown) => {
    if (typeof id === 'number' && next.has(id)) entered.add(id)
  }
  for (const [id, following] of next) if (following !== id) enter(following)
  const workflows = database
    .documents('workflows')
    .find({ '_id.workspace': workspace, ...LIVE })
    .project<Pick<StoredDocument, 'keys'>>({ 'keys.steps': 1, 'keys.firstStep': 1 })
    .limit(MAX_STEPS)
  for await (const { keys } of workflows) {
    for (const id of [keys?.firstStep, keys?.steps].flat()) enter(id)
  }
  return { next, entered, cycles: cyclesIn(next), cut: next.size > MAX_STEPS }
}

/** The steps from `first` on, until they end or come round. */
function stepsFrom({ next }: Pick<StepGraph, 'next'>, first: number): Set<number> {
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
