import type { ReplicaStore } from '@parley/shared/config-replica/replica-store'
import { type DocumentChange, documentChange } from '@parley/shared/document-change'
import { SUBSCRIPTION_DISABLED, type TaskEvent } from '@parley/shared/event-types'
import type { JsonObject } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { mapSecrets } from '@parley/shared/map-secrets'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions } from '@parley/shared/messaging/deliveries'
import { declareOrderedChanges } from '@parley/shared/messaging/topology'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { MASK } from '@parley/shared/secret-names'
import type { Channel } from 'amqplib'
import type { InsertDeliveries, NewDelivery } from './insert-deliveries.ts'
import type { RecordEvent } from './message-deliveries.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

const RUNTIME = 'runtime'
const QUEUE = 'dispatcher.events'
const MAX_CHANGES = 1_000_000

export const declareEventQueue = (channel: Channel): Promise<void> =>
  declareOrderedChanges(channel, { queue: QUEUE, maxLength: MAX_CHANGES })

/**
 * Makes deliveries of what happens to the configuration and to tasks: they are inserted before a change is acked. What
 * happens to subscriptions comes in the same queue, so that one that was just made gets what follows it.
 */
export function consumeChanges(options: {
  subscriptions: Subscriptions
  store: Pick<ReplicaStore, 'save'>
  insert: InsertDeliveries
  declare: ConsumerOptions['declare']
  log: Log
}): Consumer {
  const { subscriptions, store, insert, declare, log } = options
  return consumeBatches({
    queue: QUEUE,
    declare,
    log,
    async work(batch) {
      await subscriptions.ready
      const deliveries: NewDelivery[] = []
      for (const { content } of batch) {
        const { data: change } = documentChange.safeParse(jsonOrUndefined(content.toString()))
        if (change === undefined) {
          log.error('change of a document not understood: its events are left out')
          continue
        }
        if (change.resource === 'subscriptions') await follow(change, { store, subscriptions })
        deliveries.push(...deliveriesOf(change, subscriptions.of(change.workspace)))
      }
      await insert(deliveries)
      return []
    },
  })
}

async function follow(
  { workspace, _id: id, version, document }: DocumentChange,
  { store, subscriptions }: { store: Pick<ReplicaStore, 'save'>; subscriptions: Subscriptions },
): Promise<void> {
  await store.save({ resource: 'subscriptions', workspace, id, version, document })
  await subscriptions.refresh(workspace)
}

function deliveriesOf(change: DocumentChange, subscriptions: readonly Subscription[]): NewDelivery[] {
  if (subscriptions.length === 0) return []
  const { resource, _id } = change
  return eventsOfChange(change).flatMap((event) =>
    subscriptions
      .filter((one) => isFor(one, event, change))
      .map((subscription) => ({
        subscription,
        event: event.type,
        record: `${resource}/${_id}`,
        line: `${resource}/${_id}`,
        key: event.key,
        at: event.at,
        data: event.data,
        shortData: shortened(event.data),
      })),
  )
}

function isFor(subscription: Subscription, event: ChangeEvent, { resource, _id }: DocumentChange): boolean {
  const { events, activeSince, isFull } = subscription
  if (isFull || event.storedBy < activeSince) return false
  return event.toOthers ? !(resource === 'subscriptions' && _id === subscription._id) : events.has(event.type)
}

/** All but the document itself. */
function shortened({ document, task, ...data }: JsonObject): JsonObject {
  return data
}

/** An event of a change, with what it says. */
interface ChangeEvent extends RecordEvent {
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
