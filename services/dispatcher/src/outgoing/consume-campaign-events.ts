import {
  CAMPAIGN_EVENTS_TYPE,
  type CampaignEvent,
  publishedCampaignEvents,
} from '@parley/shared/campaign-events'
import type { JsonObject } from '@parley/shared/json-object'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions, DeadLetter } from '@parley/shared/messaging/deliveries'
import { CAMPAIGN_EVENTS_QUEUE } from '@parley/shared/messaging/topology'
import { exactOrUndefined } from '@parley/shared/parse-json'
import type { ConsumeMessage } from 'amqplib'
import type { Suppressions } from '../consent/suppressions.ts'
import type { InsertDeliveries, NewDelivery } from './insert-deliveries.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

interface CampaignEventOptions {
  subscriptions: Pick<Subscriptions, 'ready' | 'of'>
  suppressions: Pick<Suppressions, 'withoutErased'>
  insert: InsertDeliveries
}

/** Makes deliveries of what happened to campaigns, templates and people's consent, before it is acked. */
export function consumeCampaignEvents(
  options: CampaignEventOptions & Required<Pick<ConsumerOptions, 'declare' | 'deadLetters' | 'log'>>,
): Consumer {
  const { declare, deadLetters, log } = options
  return consumeBatches({
    queue: CAMPAIGN_EVENTS_QUEUE,
    work: (batch) => workEvents(options, batch),
    ...{ deadLetters, declare, log },
  })
}

/** Works a batch of events, and returns those that can't be read. Repeated events have no further effect. */
async function workEvents(
  { subscriptions, suppressions, insert }: CampaignEventOptions,
  batch: ConsumeMessage[],
): Promise<DeadLetter[]> {
  const dead: DeadLetter[] = []
  const events: CampaignEvent[] = []
  await subscriptions.ready
  for (const delivery of batch) {
    const { content, properties } = delivery
    const { data } = publishedCampaignEvents.safeParse(exactOrUndefined(content.toString()))
    if (data === undefined || properties.type !== CAMPAIGN_EVENTS_TYPE)
      dead.push({ delivery, reason: 'no events of campaigns' })
    else events.push(...data.events)
  }
  const deliveries = events.flatMap((event) =>
    subscriptions
      .of(event.workspace)
      .filter((one) => isFor(one, event))
      .map((subscription) => ({ event, subscription })),
  )
  const erased = await erasedSince(
    suppressions,
    deliveries.map(({ event }) => event),
  )
  await insert(
    deliveries
      .filter(({ event }) => !erased.has(event))
      .map((one) => deliveryOf(one.subscription, one.event)),
  )
  return dead
}

/** Those of people who were erased after it. */
async function erasedSince(
  suppressions: CampaignEventOptions['suppressions'],
  events: readonly CampaignEvent[],
): Promise<ReadonlySet<CampaignEvent>> {
  const ofPeople = [...new Set(events)].flatMap((event) => {
    const { workspace, addresses, at } = event
    return addresses === undefined ? [] : [{ event, workspace, addresses, at }]
  })
  if (ofPeople.length === 0) return new Set()
  const left = new Set((await suppressions.withoutErased(ofPeople)).map(({ event }) => event))
  return new Set(ofPeople.map(({ event }) => event).filter((event) => !left.has(event)))
}

function isFor({ events, activeSince, isFull, channel }: Subscription, event: CampaignEvent): boolean {
  if (isFull || !events.has(event.type) || Date.parse(event.at) < activeSince) return false
  const of = event.data.channel
  return channel === undefined || of === undefined || of === channel
}

function deliveryOf(subscription: Subscription, event: CampaignEvent): NewDelivery {
  const { type, record, key, at, data } = event
  return {
    ...{ subscription, event: type, record, line: record, key, at: new Date(at), data },
    shortData: shortened(data),
  }
}

/** All but what it is about. */
function shortened({ campaign, template, person, ...data }: JsonObject): JsonObject {
  return data
}
