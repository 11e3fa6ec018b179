import type { Setup, SetupForm, Stored } from './setup-form.ts'
import type { Write } from './setup-writes.ts'

/** How far writes came: what is there now, which ids stand for what was not, and why it ended, where it did. */
interface Applied {
  there: Setup
  ids: ReadonlyMap<number, number>
  done: number
  error?: Error
}

/** Makes one write, whose ids are those of what is there. Returns what was written; undefined where it was deleted. */
export type SendWrite = (write: Write) => Promise<Stored | undefined>

/** Makes the writes one after the other, and none after one that fails. */
export async function applyWrites(
  writes: readonly Write[],
  { there: before, send }: { there: Setup; send: SendWrite },
): Promise<Applied> {
  const ids = new Map<number, number>()
  let there = before
  let done = 0
  try {
    for (const write of writes) {
      const own = resolved(write, ids)
      const written = await send(own)
      if (write.kind === 'create' && write.ref !== undefined && written !== undefined)
        ids.set(write.ref, written._id)
      there = setupAfter(there, own, written)
      done++
    }
    return { there, ids, done }
  } catch (error) {
    return { there, ids, done, error: error as Error }
  }
}

/** Returns the setup once a write is made; documents that nothing refers to yet are a part of it too. */
function setupAfter(there: Setup, write: Write, written: Stored | undefined): Setup {
  const id = written?._id ?? (write.kind === 'create' ? undefined : write.id)
  const replaced = (all: readonly Stored[]): Stored[] => {
    if (written === undefined) return all.filter((one) => one._id !== id)
    return all.some((one) => one._id === id)
      ? all.map((one) => (one._id === id ? written : one))
      : [...all, written]
  }
  switch (write.resource) {
    case 'assistant':
      return { ...there, assistant: written }
    case 'jobs':
      return { ...there, job: written }
    case 'workflows':
      return { ...there, workflow: written }
    case 'steps':
      return { ...there, steps: replaced(there.steps) }
    case 'actions':
      return { ...there, actions: replaced(there.actions) }
    case 'configs':
      return { ...there, configs: replaced(there.configs) }
    default:
      return there
  }
}

/** The same form, in which what was created has its id, so that it is not created again. */
export function withIds(form: SetupForm, ids: Applied['ids']): SetupForm {
  const own = (id: number): number => ids.get(id) ?? id
  const orNull = (id: number | null): number | null => (id === null ? null : own(id))
  const { tools, workflow } = form
  return {
    ...form,
    tools: tools.map((tool) => ({ ...tool, id: own(tool.id) })),
    workflow: workflow && {
      ...workflow,
      id: own(workflow.id),
      first: orNull(workflow.first),
      steps: workflow.steps.map((step) => ({ ...step, id: own(step.id), next: orNull(step.next) })),
    },
  }
}

/** The fields with ids of other documents. */
const REFERENCES = ['next', 'firstStep', 'defaultWorkflow', 'job', 'owner', 'steps', 'actions']

function resolved(write: Write, ids: Applied['ids']): Write {
  if (write.kind === 'delete') return write
  const own = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(own)
    return typeof value === 'number' ? (ids.get(value) ?? value) : value
  }
  const body = Object.fromEntries(
    Object.entries(write.body).map(([name, value]) => [name, REFERENCES.includes(name) ? own(value) : value]),
  )
  return write.kind === 'create' ? { ...write, body } : { ...write, id: ids.get(write.id) ?? write.id, body }
}
