import { messageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { ConsumeMessage } from 'amqplib'
import type { SendStatus } from './apply-status.ts'
import { markerOf, type StatusMarker } from './status-marker.ts'

/** News of a send of one of our messages. */
export interface KnownStatus {
  messageId: string
  workspace: number
  status: SendStatus
}

type StatusReading =
  | { kind: 'known'; known: KnownStatus }
  | { kind: 'marker'; marker: StatusMarker }
  /** It is of no use here: of a send that is not ours, or of a state that we don't follow. */
  | { kind: 'ignored' }
  | { kind: 'rejected'; reason: string }

const FOLLOWED = new Set(['sent', 'delivered', 'read', 'failed'])
/** A send's id: its message's id and its position. */
const SEND_ID = /^(.{1,128}):(\d{1,5})$/

/** Reads a delivery of the status queue. */
export function readStatus(delivery: Pick<ConsumeMessage, 'content' | 'properties'>): StatusReading {
  const { properties, content } = delivery
  if (properties.type !== STATUS_TYPE) {
    return { kind: 'rejected', reason: `unknown message type ${JSON.stringify(properties.type)}` }
  }
  const parsed = messageStatus.safeParse(jsonOrUndefined(content.toString()))
  if (!parsed.success) {
    return { kind: 'rejected', reason: `body field /${parsed.error.issues[0]?.path.join('/')} is wrong` }
  }
  const marker = markerOf(parsed.data)
  if (marker !== undefined) return { kind: 'marker', marker }
  const { workspace, opaque, status, providerId, at, errors } = parsed.data
  const [, messageId, index] = SEND_ID.exec(opaque ?? '') ?? []
  if (messageId === undefined || !FOLLOWED.has(status)) return { kind: 'ignored' }
  const [error] = errors ?? []
  const reason =
    error === undefined ? {} : { reason: `The provider says that it failed, with code ${error.code}.` }
  const state = status as SendStatus['state']
  const known = {
    messageId,
    workspace,
    status: { index: Number(index), state, providerId, at: new Date(at), ...reason },
  }
  return { kind: 'known', known }
}
