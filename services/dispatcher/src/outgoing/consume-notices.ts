import { channelNotice, NOTICE_TYPE } from '@parley/shared/channel-notice'
import { CHANNEL_NOTICE } from '@parley/shared/event-types'
import { insertNew } from '@parley/shared/insert-new'
import type { JsonObject } from '@parley/shared/json-object'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions, DeadLetter } from '@parley/shared/messaging/deliveries'
import { NOTICE_QUEUE } from '@parley/shared/messaging/topology'
import { exactOrUndefined, parseJson } from '@parley/shared/parse-json'
import { addressText } from '@parley/shared/providers/address'
import { allProviders } from '@parley/shared/providers/registry'
import type { ConsumeMessage } from 'amqplib'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { ConsentEvent, RecordConsent } from '../consent/record-consent.ts'
import { type NoticeRecord, noticeView } from '../message/notice-record.ts'
import type { InsertDeliveries, NewDelivery } from './insert-deliveries.ts'
import { type ExtIdOf, isOfChannel } from './message-deliveries.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

interface NoticeOptions {
  notices: mongo.Collection<NoticeRecord>
  subscriptions: Pick<Subscriptions, 'ready' | 'of'>
  recordConsent: RecordConsent
  insert: InsertDeliveries
  extIdOf: ExtIdOf
  retentionMs: number
  now: () => number
}

/** Stores what happened to channels at their providers, and makes deliveries of it, before it is acked. */
export function consumeNotices(
  options: NoticeOptions & Required<Pick<ConsumerOptions, 'declare' | 'deadLetters' | 'log'>>,
): Consumer {
  const { declare, deadLetters, log } = options
  return consumeBatches({
    queue: NOTICE_QUEUE,
    work: (batch) => workNotices(options, batch),
    ...{ deadLetters, declare, log },
  })
}

/** Those that can't be read are returned. One that comes again is the same. */
async function workNotices(options: NoticeOptions, batch: ConsumeMessage[]): Promise<DeadLetter[]> {
  const { notices, subscriptions, insert, recordConsent, now, retentionMs } = options
  const at = now()
  const dead: DeadLetter[] = []
  const records: NoticeRecord[] = []
  for (const delivery of batch) {
    const notice = readNotice(delivery)
    if (notice === undefined) dead.push({ delivery, reason: 'no notice of a channel' })
    else records.push({ ...notice, receivedAt: new Date(at), expiresAt: new Date(at + retentionMs) })
  }
  const choices = records.flatMap(choicesIn)
  if (choices.length > 0) await recordConsent(choices)
  await insertNew(notices, records)
  await subscriptions.ready
  const deliveries: NewDelivery[] = []
  for (const record of records)
    for (const one of subscriptions.of(record.workspace))
      if (await isFor(one, record, options.extIdOf)) deliveries.push(deliveryOf(one, record))
  await insert(deliveries)
  return dead
}

const propertiesSchema = z.object({
  messageId: z.string().min(1).max(128),
  type: z.literal(NOTICE_TYPE),
  headers: z.object({ channelId: z.number().int() }),
})

function readNotice({
  properties,
  content,
}: ConsumeMessage): Omit<NoticeRecord, 'receivedAt' | 'expiresAt'> | undefined {
  const { data: known } = propertiesSchema.safeParse(properties)
  const { data: notice } = channelNotice.safeParse(exactOrUndefined(content.toString()))
  if (known === undefined || notice === undefined) return undefined
  const { workspace, channel, field, at, text, value } = notice
  return {
    ...{ _id: known.messageId, workspace, channel, channelId: known.headers.channelId, field, text },
    ...(at !== null && { at: new Date(at) }),
    value: JSON.stringify(value ?? null),
  }
}

/** The choices of people that a notice of any provider tells of. */
function choicesIn({ _id, workspace, field, value, receivedAt }: NoticeRecord): ConsentEvent[] {
  const notice = { field, value: parseJson(value) }
  const found = allProviders().flatMap(({ inbound }) => inbound?.preferencesIn?.(notice) ?? [])
  return found.map(({ person, status, at = receivedAt }, position) => ({
    ...{ id: `notice/${_id}/${position}`, workspace, addresses: person.addresses.map(addressText) },
    ...{ purpose: 'marketing', status, source: 'provider', at: at < receivedAt ? at : receivedAt },
  }))
}

async function isFor(subscription: Subscription, record: NoticeRecord, extIdOf: ExtIdOf): Promise<boolean> {
  const { events, activeSince, isFull } = subscription
  if (isFull || !events.has(CHANNEL_NOTICE) || record.receivedAt.getTime() < activeSince) return false
  return isOfChannel(subscription, record, extIdOf)
}

function deliveryOf(subscription: Subscription, record: NoticeRecord): NewDelivery {
  const data = noticeView(record) as JsonObject
  const { value: _value, ...shortData } = data
  return {
    subscription,
    event: CHANNEL_NOTICE,
    record: `notices/${record._id}`,
    line: `channel/${record.channelId}`,
    key: CHANNEL_NOTICE,
    at: record.at ?? record.receivedAt,
    data,
    shortData,
  }
}
