import { unstorable } from '@parley/shared/json-body'
import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { derivedMessageId } from '../message-id.ts'
import {
  type MessagePublication,
  messagePublication,
  type Provenance,
  statusPublication,
} from '../publication.ts'
import type { Update } from './payload.ts'
import { toMessage } from './to-message.ts'
import { toStatus } from './to-status.ts'

/** Why an update is left out: it can't be read or stored, or one of its ids has more than 1,024 characters. */
type SkipReason = 'malformed' | 'id_too_long'

/** An update as it is published, or why it is not. */
export function publicationOf(
  { kind, raw, contacts }: Update,
  { extId, provenance }: { extId: string; provenance: Provenance },
): MessagePublication | SkipReason {
  if (unstorable(raw).length > 0) return 'malformed'
  const origin = { source: 'meta', workspace: provenance.workspace, channel: extId } as const
  if (kind === 'status') {
    const status = toStatus({ workspace: provenance.workspace, channel: extId, raw })
    if (status === undefined) return 'malformed'
    if (areTooLong(status.providerId, status.opaque, status.recipient)) return 'id_too_long'
    const messageId = derivedMessageId({ ...origin, id: status.providerId, status: status.status })
    return statusPublication({ messageId, status, provenance })
  }
  const read = toMessage({ extId, raw, contacts: contacts.filter((one) => unstorable(one).length === 0) })
  if (read === undefined) return 'malformed'
  if (areTooLong(read.id, read.message.thread.extId)) return 'id_too_long'
  const body = Buffer.from(JSON.stringify(read.message))
  const messageId = derivedMessageId({ ...origin, id: read.id })
  return messagePublication({ messageId, message: read.message, body, provenance })
}

const areTooLong = (...ids: (string | null | undefined)[]): boolean =>
  ids.some((id) => (id?.length ?? 0) > MAX_ID_CHARACTERS)
