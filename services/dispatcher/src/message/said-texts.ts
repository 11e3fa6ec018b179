import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { providerNamed } from '@parley/shared/providers/registry'
import { currentMessage } from './current-message.ts'
import type { MessageRecord, PersonalContent, Send } from './message-record.ts'
import { objectIn, objectOf } from './object-content.ts'
import { isSilent, receivedContent } from './received-content.ts'
import { isSettled } from './send-state.ts'
import { isPersonal } from './spoken-text.ts'

/** A larger body has media in it. */
const MAX_BODY_BYTES = 64 * 1024

/** The fields of a message that {@link saidTexts} needs, with its body where that is small. */
export type SaidMessage = Pick<
  MessageRecord,
  '_id' | 'source' | 'state' | 'open' | 'transcript' | 'sends' | 'reason' | 'changed'
> & { body: string | null }

/** The fields of it, as the database projects them. */
export const SAID_FIELDS = {
  ...{ source: 1, state: 1, open: 1, transcript: 1, sends: 1, reason: 1, changed: 1 },
  body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
} as const

/**
 * What was said in a message, by the person and then to the person, as it reads now; of a template what it was filled
 * with. Nothing of what was taken back, or only changes another message.
 */
export function saidTexts(record: SaidMessage): string[] {
  const message =
    record.body === null ? undefined : (jsonOrUndefined(record.body) as WebhookMessage | undefined)
  const sent = record.sends.flatMap((send) =>
    isPersonal(send) && isReported(record, send) ? textOf(send.content, message) : [],
  )
  return [...receivedTexts(record, message), ...sent].filter((text) => text.trim() !== '')
}

/** True if a send is shown. A send that a person took over before it left was never made; a dead one has to be known. */
export function isReported({ open, state }: Pick<MessageRecord, 'open' | 'state'>, send: Send): boolean {
  return isSettled(send) || send.state === 'claimed' || open === true || state === 'dead'
}

function receivedTexts(record: SaidMessage, given: WebhookMessage | undefined): string[] {
  const { source, transcript, changed } = record
  const kind = given && receivedContent(given, source)?.nature?.kind
  if (isSilent(record) || (kind !== undefined && UNSAID.includes(kind))) return []
  const { input } = given === undefined ? {} : currentMessage(given, changed)
  const heard = changed?.isDeleted ? undefined : transcript
  return [input, heard].flatMap((text) => text ?? [])
}

const UNSAID: readonly string[] = ['edit', 'deletion', 'notice', 'contact']

function textOf(content: PersonalContent, message: WebhookMessage | undefined): string {
  if (content.kind === 'text') return content.text
  if (content.kind === 'template') return content.variables.join(' | ')
  const object = objectIn(content)
  const said = object && objectOf(object, message)
  return (said && providerNamed(object?.provider)?.outbound.objects?.preview(said).text) ?? ''
}
