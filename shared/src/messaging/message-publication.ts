import { createHash } from 'node:crypto'
import { type ChannelNotice, NOTICE_TYPE } from '../channel-notice.ts'
import { MESSAGE_TYPE, threadOf, type WebhookMessage } from '../message.ts'
import { type MessageStatus, STATUS_TYPE } from '../message-status.ts'
import { slotKey, slotOf } from './layout.ts'
import type { Publication } from './publish-observer.ts'
import { MESSAGES_EXCHANGE, NOTICE_KEY, statusKey, statusPartitionOf } from './topology.ts'

/** The origin of a message: a caller of the API, a person of the team who replies in a thread, or a provider's source. */
type MessageSource = string

/** Something to publish to exchange `messages`. */
export interface MessagePublication extends Publication {
  messageId: string
  type: string
  headers: PublicationHeaders
}

/** Those of every publication; what is undefined is not sent. */
interface PublicationHeaders {
  workspace: number
  channel: string
  source: MessageSource
  requestId: string
  channelId: number | undefined
  traceparent: string | undefined
  /** The thread that a message is ordered by; a status and a notice have none. */
  thread: string | undefined
  /** Names of threads of the same person that go on in this one, where there are some. */
  joined: string[] | undefined
  /** Addresses that the message says its person has left. */
  left: string[] | undefined
}

/** Where a message came from, and what belongs to the request that brought it. */
export interface Provenance {
  workspace: number
  source: MessageSource
  /** The configuration's own id of the channel, where it is known. */
  channelId: number | undefined
  requestId: string
  traceparent: string | undefined
}

/** A message for the slot of its thread, which is its own unless it is given with those that go on in it. `body` is `message` as bytes. */
export function messagePublication(options: {
  messageId: string
  message: WebhookMessage
  body: Buffer
  provenance: Provenance
  thread?: string
  joined?: string[] | undefined
  left?: string[] | undefined
}): MessagePublication {
  const { messageId, message, body, provenance, joined, left } = options
  const { thread = threadOf(message, messageId) } = options
  const headers = headersOf(provenance, { channel: message.extId, thread, joined, left })
  const routingKey = slotKey(slotOf(provenance.workspace, thread))
  return { exchange: MESSAGES_EXCHANGE, routingKey, messageId, type: MESSAGE_TYPE, headers, body }
}

/** A provider's status for the queue of its send: those of one send stay in order. */
export function statusPublication(options: {
  messageId: string
  status: MessageStatus
  provenance: Provenance
}): MessagePublication {
  const { messageId, status, provenance } = options
  const headers = headersOf(provenance, { channel: status.channel, thread: undefined })
  return {
    exchange: MESSAGES_EXCHANGE,
    routingKey: statusKey(statusPartitionOf(status.providerId)),
    messageId,
    type: STATUS_TYPE,
    headers,
    body: Buffer.from(JSON.stringify(status)),
  }
}

/** Makes the publication of what happened to a channel, for the queue of notices. */
export function noticePublication(options: {
  messageId: string
  notice: ChannelNotice
  provenance: Provenance
}): MessagePublication {
  const { messageId, notice, provenance } = options
  const headers = headersOf(provenance, { channel: notice.channel, thread: undefined })
  return {
    exchange: MESSAGES_EXCHANGE,
    routingKey: NOTICE_KEY,
    messageId,
    type: NOTICE_TYPE,
    headers,
    body: Buffer.from(JSON.stringify(notice)),
  }
}

function headersOf(
  provenance: Provenance,
  of: Pick<PublicationHeaders, 'channel' | 'thread'> & Partial<Pick<PublicationHeaders, 'joined' | 'left'>>,
): PublicationHeaders {
  const { workspace, source, requestId, channelId, traceparent } = provenance
  const { channel, thread } = of
  const [joined, left] = [someOf(of.joined), someOf(of.left)]
  // All have the same names: a publisher sends those that it is not given as they were before.
  return { workspace, channel, source, requestId, channelId, traceparent, thread, joined, left }
}

const someOf = (names: string[] | undefined): string[] | undefined =>
  names === undefined || names.length === 0 ? undefined : names

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** The caller's trace context (W3C), when it is one. */
export function traceparentOf(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const { traceparent } = headers
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined
}

/** The facts that make a message the same one when it comes again. */
type Origin =
  | { source: 'api' | 'reply'; workspace: number; key: string; body: Buffer }
  /** A provider's message, by its own id, and the status where it is that of a send. */
  | { source: string; workspace: number; channel: string; id: string; status?: string }

/**
 * The id of a message that may come again: derived from where it came from, in the form of a UUID (version 8,
 * RFC 9562), so that the store still knows a repeat when the remembered ids are lost.
 */
export function derivedMessageId(origin: Origin): string {
  const digest = createHash('sha256')
  if ('key' in origin) {
    digest.update(`${origin.source}\0${origin.workspace}\0${origin.key}\0`).update(origin.body)
  } else {
    const { source, workspace, channel, id, status } = origin
    // As JSON, because an external id may hold any character.
    digest.update(`${source}\0${JSON.stringify([workspace, channel, id, status ?? null])}`)
  }
  return asUuid(digest.digest())
}

function asUuid(hash: Buffer): string {
  hash[6] = (hash.readUInt8(6) & 0x0f) | 0x80
  hash[8] = (hash.readUInt8(8) & 0x3f) | 0x80
  const hex = hash.toString('hex', 0, 16)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
