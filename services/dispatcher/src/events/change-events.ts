import type { DocumentChange } from '@parley/shared/document-change'
import { SUBSCRIPTION_DISABLED, type TaskEvent } from '@parley/shared/event-types'
import type { JsonObject } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { MASK } from '@parley/shared/secret-keys'
import type { RecordEvent } from './message-events.ts'

const RUNTIME = 'runtime'

/** An event of a change, with what it says. */
export interface ChangeEvent extends RecordEvent {
  data: JsonObject
  /** Goes to all subscriptions but the one that changed, whatever they name. */
  toOthers?: true
}

/** The events of one change to the configuration, in order; secrets are masked. */
export function eventsOfChange(change: DocumentChange): ChangeEvent[] {
  const { resource, _id, version, operation, at: text } = change
  if (operation === undefined || text === undefined) return []
  const at = new Date(text)
  const when = { at, storedBy: at.getTime() }
  const document = mapSecrets(change.document, () => MASK)
  const said = { resource, _id, version, operation, by: change.by, document }
  const written: ChangeEvent = {
    ...when,
    key: `${operation}:${version}`,
    type: `configuration.${resource}.${operation}`,
    data: said,
  }
  const ofTask = resource === 'tasks' ? taskEvents(change) : []
  const tasks = ofTask.map((type): ChangeEvent => {
    const step = type === 'task.step_completed' ? { step: change.before?.currentStep ?? null } : {}
    return { ...when, key: `${type}:${version}`, type, data: { _id, ...step, task: document } }
  })
  return [written, ...tasks, ...disabledEvent({ ...change, document }, when)]
}

/**
 * What a task went through by a change. Where it is not known what it was before, because configuration had lost its
 * place, the change counts as one that led to its status.
 */
function taskEvents({ operation, document, before, by }: DocumentChange): TaskEvent[] {
  if (document === null) return []
  const { status, currentStep } = document
  const isRuntime = by?.username === RUNTIME
  const steps = Object.keys(((document.context as JsonObject | null)?.steps ?? {}) as JsonObject)
  const events: TaskEvent[] = operation === 'created' ? ['task.started'] : []
  const isMoved =
    before === undefined
      ? operation === 'created' && steps.length > 0
      : currentStep !== before.currentStep || steps.length > before.steps.length
  const isEnded = status !== before?.status
  if (isRuntime && (isMoved || (isEnded && status === 'completed'))) events.push('task.step_completed')
  if (isEnded && status === 'completed') events.push('task.completed')
  if (isEnded && status === 'failed') events.push('task.failed')
  return events
}

/** A subscription that the runtime turned off, for all the others. */
function disabledEvent(
  { resource, _id, version, document, by }: DocumentChange,
  when: Pick<RecordEvent, 'at' | 'storedBy'>,
): ChangeEvent[] {
  const isDisabled = resource === 'subscriptions' && by?.username === RUNTIME && document?.active === false
  if (!isDisabled) return []
  const { name, url, disabled } = document
  return [
    {
      ...when,
      key: `disabled:${version}`,
      type: SUBSCRIPTION_DISABLED,
      data: { subscription: { _id, name, url, disabled } },
      toOthers: true,
    },
  ]
}
