import type { Batch, Finding } from './finding.ts'
import { stepsFrom } from './step-graph.ts'

const SHOWN = 10
const MAX_LISTED = 1_000

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
