import { phoneDigits } from '../address.ts'
import type { Update, UpdateFate } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { type Change, itemsIn, malformedPart, noticeIn } from './change.ts'
import { typeOf } from './message-types.ts'
import { said } from './messages.ts'
import { withField } from './natures.ts'
import { personNamed, recipientIn } from './persons.ts'

const MALFORMED: UpdateFate = { kind: 'message', fate: 'malformed' }

/** Messages of the business in its own app. */
export const echoesIn = (change: Change): Update[] =>
  orNotice(change, itemsIn(change, 'message_echoes', echoUpdate))

/** Contacts of the business in its own app. */
export const contactsOfApp = (change: Change): Update[] =>
  orNotice(change, itemsIn(change, 'state_sync', contactUpdate))

/** Messages from before the number was connected, in chunks; the media of some of them come later, in a list of their own. */
export function historyIn(change: Change): Update[] {
  const { value, path } = change
  const business = phoneDigits(textAt(value, 'metadata', 'display_phone_number'))
  const chunks = partsIn(value, 'history', path, (chunk, at) => [
    ...partsIn(chunk, 'threads', at, (thread, ofThread) => {
      const person = textAt(thread, 'id')
      return partsIn(thread, 'messages', ofThread, (raw, ofMessage) => [
        { path: ofMessage, raw, ...pastUpdate(raw, { person, business }) },
      ])
    }),
    // The business may share nothing.
    ...(own(chunk, 'errors') === undefined ? [] : [{ path: at, raw: chunk, ...noticeIn(change, chunk) }]),
  ])
  const media = itemsIn(change, 'messages', (raw) => pastUpdate(raw, { person: undefined, business }))
  return orNotice(change, [...chunks, ...media])
}

/** A change that has nothing else is something that happened to the channel. */
function orNotice(change: Change, updates: Update[]): Update[] {
  const { path, value } = change
  return updates.length > 0 ? updates : [{ path, raw: value, ...noticeIn(change, value) }]
}

function partsIn(
  parent: unknown,
  key: string,
  path: string,
  read: (one: unknown, at: string) => Update[],
): Update[] {
  if (!isJsonObject(parent)) return [malformedPart(parent, path)]
  const parts = own(parent, key)
  if (parts === undefined) return []
  if (!Array.isArray(parts)) return [malformedPart(parts, `${path}/${key}`)]
  return parts.flatMap((one, at) => read(one, `${path}/${key}/${at}`))
}

/** A message of the business to somebody in its own app. */
function echoUpdate(raw: unknown): UpdateFate {
  const person = textAt(raw, 'to') ?? textAt(raw, 'to_user_id')
  const id = textAt(raw, 'id')
  if (!isJsonObject(raw) || person === undefined || id === undefined) return MALFORMED
  const to = { user: { phone: person }, person: recipientIn(raw) }
  return accepted(said({ id, thread: person, ...to, raw: withField(raw, 'smb_message_echoes') }))
}

/**
 * A message of before the number was connected, in the thread of a person. Only what the business wrote says to whom; where
 * it does not, it is known by its number. Media may come later, under the same id: what stands for them has another.
 */
function pastUpdate(
  raw: unknown,
  { person, business }: { person: string | undefined; business: string | undefined },
): UpdateFate {
  const id = textAt(raw, 'id')
  const from = textAt(raw, 'from')
  if (!isJsonObject(raw) || id === undefined) return MALFORMED
  const isOwn = own(raw, 'to') !== undefined || (from !== undefined && from === business)
  const other = person ?? (isOwn ? textAt(raw, 'to') : from)
  if (other === undefined) return MALFORMED
  const { to: _to, ...rest } = raw
  const past = withField(isOwn ? { ...raw, to: other } : rest, 'history')
  const messageId = typeOf(raw) === 'media_placeholder' ? `${id}/placeholder` : id
  return accepted(said({ id: messageId, thread: other, ...personNamed(other), raw: past }))
}

/** The business's name for somebody in its own app. */
function contactUpdate(raw: unknown): UpdateFate {
  const number = textAt(raw, 'contact', 'phone_number')
  const person = phoneDigits(number) ?? textAt(raw, 'contact', 'user_id')
  if (!isJsonObject(raw) || textAt(raw, 'type') !== 'contact' || person === undefined) return MALFORMED
  const id = JSON.stringify(['contact', person, own(raw, 'metadata', 'timestamp'), own(raw, 'action')])
  return accepted(
    said({ id, thread: person, ...personNamed(person), raw: withField(raw, 'smb_app_state_sync') }),
  )
}

const accepted = (read: ReturnType<typeof said>): UpdateFate => ({
  kind: 'message',
  fate: 'accepted',
  ...read,
})
