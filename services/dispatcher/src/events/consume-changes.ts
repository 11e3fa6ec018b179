import type { ReplicaStore } from '@parley/shared/config-replica/replica-store'
import { type DocumentChange, documentChange } from '@parley/shared/document-change'
import type { JsonObject } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions } from '@parley/shared/messaging/deliveries'
import { declareOrderedChanges } from '@parley/shared/messaging/topology'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Channel } from 'amqplib'
import { type ChangeEvent, eventsOfChange } from './change-events.ts'
import type { InsertDeliveries, NewDelivery } from './insert-deliveries.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

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
