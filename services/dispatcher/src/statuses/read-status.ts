import { type MessageStatus, messageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { providerOfSource } from '@parley/shared/providers/registry'
import type { ConsumeMessage } from 'amqplib'
import type { SendStatus } from './apply-statuses.ts'
import { markerOf, type StatusMarker } from './status-marker.ts'

/** A status that may be of one of our sends. */
export interface KnownStatus {
  workspace: number
  /** External id of the channel whose it is. */
  channel: string
  /** Which send it names by our own id, where it does. */
  send?: { messageId: string; index: number }
  status: Omit<SendStatus, 'index'>
  /** The same for a repeat. */
  id: string
  /** Whom it came from. */
  source: string
  reported: MessageStatus
}

type StatusReading =
  | { kind: 'known'; known: KnownStatus }
  | { kind: 'marker'; marker: StatusMarker }
  /** It is of no use here: of a state that we don't follow. */
  | { kind: 'ignored' }
  | { kind: 'rejected'; reason: string }

const FOLLOWED = new Set(['sent', 'delivered', 'read', 'failed'])
/** A send's id: its message's id and its position. */
const SEND_ID = /^(.{1,128}):(\d{1,5})$/
const MAX_ERROR = 500

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
  if (!FOLLOWED.has(parsed.data.status)) return { kind: 'ignored' }
  return { kind: 'known', known: knownStatus(parsed.data, String(properties.headers?.source)) }
}

/** A status as it is applied; `source` is whom it came from. */
export function knownStatus(reported: MessageStatus, source: string): KnownStatus {
  const { workspace, channel, opaque, status, providerId, at, pricing } = reported
  const [, messageId, index] = SEND_ID.exec(opaque ?? '') ?? []
  const state = status as SendStatus['state']
  return {
    ...{ workspace, channel },
    ...(messageId !== undefined && { send: { messageId, index: Number(index) } }),
    status: {
      ...{ state, providerId, at: new Date(at) },
      ...(pricing && { pricing }),
      ...(state === 'failed' && failureOf(reported, source)),
    },
    id: `${workspace}/${providerId}/${status}`,
    ...{ source, reported },
  }
}

/** A failure that is reported later means what the same one in a response does. */
function failureOf({ errors }: MessageStatus, source: string): Pick<SendStatus, 'failure'> {
  const [error] = errors ?? []
  if (error === undefined) return {}
  const { code, title, message, details } = error
  const known = code === null ? undefined : providerOfSource(source)?.outbound.outcomeOfCode?.(code)
  const said = [title ?? message, details].filter((text) => text).join(': ')
  return {
    failure: {
      ...(known ?? { kind: 'permanent', fault: 'provider', code: String(code ?? 'reported_failed') }),
      reason: `The provider says that it failed, with code ${code}.`,
      ...(said !== '' && { error: said.slice(0, MAX_ERROR) }),
    },
  }
}
