import { listAll } from '../api.ts'
import { Badge, Card, Empty, Failure, Loading } from '../components/basics.tsx'
import { count } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { type Document, titleOf } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'

interface Graph {
  /** In the sequence in which a task comes to them. */
  path: Document[]
  unreachable: Document[]
  /** The step that the last one leads back to. */
  backTo: Document | undefined
  /** A step that is named and not there. */
  missing: number | undefined
}

/** A workflow's steps as they follow each other, those that no task comes to, and the tasks at each. */
export function WorkflowGraph({ workflow }: { workflow: Document }) {
  const { _id, steps, firstStep } = workflow
  const all = useLoad('steps', () => listAll<Document>('/rest/steps'), { everyMs: 10_000 })
  const tasks = useLoad(
    `tasks of ${_id}`,
    () => (may('read', 'tasks') ? openTasksOf(_id) : Promise.resolve([])),
    { everyMs: 5_000 },
  )
  if (all.data === undefined) return all.error ? <Failure error={all.error} /> : <Loading />
  const own = Array.isArray(steps) ? (steps as number[]) : []
  const graph = graphOf(all.data, { own, first: (firstStep as number | null | undefined) ?? own[0] })
  const open = tasks.data ?? []
  const at = (step: number) => open.filter(({ currentStep }) => currentStep === step).length
  return (
    <Card
      title={t('Steps')}
      note={t('{count, plural, one {# open task} other {# open tasks}}', { count: open.length })}
    >
      {graph.path.length === 0 && (
        <Empty title={t('No first step')}>{t('Set one below, so that tasks can start.')}</Empty>
      )}
      <ol class="graph">
        {graph.path.map((step, index) => (
          <li key={step._id}>
            <StepNode step={step} tasks={at(step._id)} number={index + 1} />
          </li>
        ))}
        <li class="graph-end">
          {graph.backTo &&
            t('Goes back to {title}, so a task never completes', { title: titleOf(graph.backTo) })}
          {graph.missing !== undefined &&
            t('Leads to step {missing}, which is not there', { missing: graph.missing })}
          {graph.path.length > 0 &&
            !graph.backTo &&
            graph.missing === undefined &&
            t('The task is completed')}
        </li>
      </ol>
      {graph.unreachable.length > 0 && (
        <>
          <h3>{t('Not reached by any task')}</h3>
          <ul class="graph">
            {graph.unreachable.map((step) => (
              <li key={step._id} class="unreachable">
                <StepNode step={step} tasks={at(step._id)} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}

/** The tasks of a workflow that have not ended, 1,000 of each status at most. */
async function openTasksOf(workflow: number): Promise<Document[]> {
  const byStatus = await Promise.all(
    ['active', 'pending'].map((status) => listAll<Document>('/rest/tasks', { query: { workflow, status } })),
  )
  return byStatus.flat()
}

function StepNode({ step, tasks, number }: { step: Document; tasks: number; number?: number }) {
  return (
    <div class="node">
      {number !== undefined && <span class="node-number">{number}</span>}
      <div class="grow">
        <a href={hrefOf(`/assistants/steps/${step._id}`)}>{titleOf(step)}</a>
        <p class="note">{String(step.submitWhen ?? '')}</p>
      </div>
      {tasks > 0 && <Badge tone="info">{t('{count} here', { count: count(tasks) })}</Badge>}
    </div>
  )
}

/** Follows `next` from the first step. */
function graphOf(all: Document[], { own, first }: { own: number[]; first: number | undefined }): Graph {
  const byId = new Map(all.map((step) => [step._id, step]))
  const path: Document[] = []
  const seen = new Set<number>()
  let at = first ?? undefined
  let step = at === undefined ? undefined : byId.get(at)
  while (step !== undefined && !seen.has(step._id)) {
    seen.add(step._id)
    path.push(step)
    at = (step.next as number | null | undefined) ?? undefined
    step = at === undefined ? undefined : byId.get(at)
  }
  const unreachable = own.filter((id) => !seen.has(id)).flatMap((id) => byId.get(id) ?? [])
  return { path, unreachable, backTo: step, missing: at !== undefined && step === undefined ? at : undefined }
}
