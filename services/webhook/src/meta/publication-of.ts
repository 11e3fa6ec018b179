import { unstorable } from '@parley/shared/json-body'
import { derivedMessageId } from '../message-id.ts'
import { messagePublication, type Provenance, type Publication, statusPublication } from '../publication.ts'
import type { Update } from './payload.ts'
import { toMessage } from './to-message.ts'
import { toStatus } from './to-status.ts'

/** An update as it is published; undefined when it can't be read, or could not be stored. */
export function publicationOf(
  { kind, raw, contacts }: Update,
  { extId, provenance }: { extId: string; provenance: Provenance },
): Publication | undefined {
  if (unstorable(raw).length > 0) return undefined
  const origin = { source: 'meta', workspace: provenance.workspace, channel: extId } as const
  if (kind === 'status') {
    const status = toStatus({ workspace: provenance.workspace, channel: extId, raw })
    if (status === undefined) return undefined
    const messageId = derivedMessageId({ ...origin, id: status.providerId, status: status.status })
    return statusPublication({ messageId, status, provenance })
  }
  const read = toMessage({ extId, raw, contacts: contacts.filter((one) => unstorable(one).length === 0) })
  if (read === undefined) return undefined
  const body = Buffer.from(JSON.stringify(read.message))
  const messageId = derivedMessageId({ ...origin, id: read.id })
  return messagePublication({ messageId, message: read.message, body, provenance })
}
