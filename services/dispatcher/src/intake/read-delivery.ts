import { acceptedMessage, MESSAGE_TYPE } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import type { ConsumeMessage } from 'amqplib'
import { z } from 'zod'
import { consentSaidIn, type SaidMessage } from '../consent/heed-messages.ts'
import { addressesOf } from '../message/addresses.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { namesOf } from '../message/person-names.ts'
import { hasAnswer } from '../message/plan.ts'
import { REPLAY_TYPE } from '../message/progress.ts'
import { receivedContent, unspokenReason } from '../message/received-content.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024

const propertiesSchema = z.object({
  messageId: z.string().min(1).max(128),
  headers: z.object({
    workspace: z.number().int(),
    channel: z.string(),
    channelId: z.number().int().optional(),
    thread: z.string(),
    joined: z.array(z.string()).optional(),
    left: z.array(z.string()).optional(),
    source: z.string(),
    requestId: z.string().optional(),
    traceparent: z.string().max(64).optional(),
  }),
})

// Compiled, they look without copying what they look at.
const knownProperties = z.compile(propertiesSchema)
const knownMessage = z.compile(acceptedMessage)

/** A delivery as it will be stored, or why it can't be. */
export type DeliveryReading =
  | {
      kind: 'message'
      message: Omit<MessageRecord, 'partition' | 'order'>
      /** The content of a message that is no speech. */
      unspoken?: ReceivedContent | undefined
      /** The parts that may state consent, and the place of its person. */
      said?: Omit<SaidMessage, 'message'> | undefined
    }
  | ({ kind: 'replay' } & z.output<typeof replaySchema>)
  | { kind: 'rejected'; reason: string }

/** Reads a delivery of exchange `messages`. Fields that a later version adds are stored and ignored. */
export function readDelivery(delivery: Pick<ConsumeMessage, 'content' | 'properties'>): DeliveryReading {
  const { properties, content } = delivery
  if (properties.type === REPLAY_TYPE) return readReplay(content)
  if (properties.type !== MESSAGE_TYPE)
    return unreadable(`unknown message type ${JSON.stringify(properties.type)}`)
  if (content.length > MAX_BODY_BYTES) return unreadable(`body of ${content.length} bytes`)
  if (!knownProperties.validate(properties))
    return unreadable(`property ${invalidPath(propertiesSchema, properties)?.join('.')} is wrong`)
  const body = content.toString()
  const message = jsonOrUndefined(body)
  if (!knownMessage.validate(message))
    return unreadable(`body field /${invalidPath(acceptedMessage, message)?.join('/')} is wrong`)
  const { messageId, headers } = properties as z.input<typeof propertiesSchema>
  const { workspace, channel, channelId, thread, joined, left, source, requestId, traceparent } = headers
  const addresses = addressesOf(message.user)
  const names = namesOf(message.user)
  const at = new Date()
  const received = receivedContent(message, source)
  const isUnspoken = received !== undefined && unspokenReason(received) !== undefined
  const isResponded = hasAnswer(message.answer)
  const said = isResponded ? undefined : consentSaidIn(message, received)
  // All have the same fields, also those that come later: objects of one shape are cheaper to make and to read.
  return {
    kind: 'message',
    unspoken: isUnspoken ? received : undefined,
    said: (said ?? left) && { said, left, writtenAt: received?.writtenAt },
    message: {
      _id: messageId,
      workspace,
      thread,
      joined,
      addresses: addresses.length === 0 ? undefined : addresses,
      names: names.length === 0 ? undefined : names,
      revision: 0,
      writer: undefined,
      channel,
      channelId,
      source,
      inbound: isResponded || isUnspoken ? undefined : true,
      requestId,
      traceparent,
      state: 'received',
      open: true,
      due: undefined,
      waitingFor: undefined,
      tries: 0,
      receivedAt: at,
      acceptedAt: acceptedBefore(at, properties.timestamp),
      updatedAt: at,
      expiresAt: undefined,
      reason: undefined,
      fault: undefined,
      body,
      answer: undefined,
      sends: [],
      timeline: [{ at, state: 'received' }],
      attempts: [],
    },
  }
}

/** The broker's messages are dated to the second: what was accepted within the last one is as good as received. */
function acceptedBefore(at: Date, timestamp: unknown): Date | undefined {
  const latest = typeof timestamp === 'number' ? (timestamp + 1) * 1_000 : Number.NaN
  return latest > 0 && latest < at.getTime() ? new Date(latest) : undefined
}

const replaySchema = z.object({
  workspace: z.number().int(),
  messageId: z.string().min(1).max(128),
  onlyOpen: z.boolean().optional(),
  onlyFailed: z.boolean().optional(),
})

function readReplay(content: Buffer): DeliveryReading {
  const replay = replaySchema.safeParse(jsonOrUndefined(content.toString()))
  return replay.success ? { kind: 'replay', ...replay.data } : unreadable('a replay without a message')
}

/** Where the first fault is. */
const invalidPath = (schema: z.ZodType, value: unknown): PropertyKey[] | undefined =>
  schema.safeParse(value).error?.issues[0]?.path

function unreadable(reason: string): DeliveryReading {
  return { kind: 'rejected', reason }
}
