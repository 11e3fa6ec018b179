import { phoneDigits } from '../address.ts'
import type { Update, UpdateFate } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { typeOf } from './message-types.ts'
import { said } from './messages.ts'
import { withField } from './natures.ts'

const MALFORMED: UpdateFate = { kind: 'message', fate: 'malformed' }

/** What is read of one element, and where the list of them is. */
type Lists = (
  value: unknown,
  path: string,
) => { items: unknown; path: string; read(raw: unknown): UpdateFate }[]

/**
 * The fields of numbers that are in the app of the business as well, and what each brings: what the business writes there,
 * what was written before, and whom it knows.
 */
const FIELDS: Readonly<Record<string, Lists>> = {
  smb_message_echoes: (value, path) => [
    { items: own(value, 'message_echoes'), path: `${path}/message_echoes`, read: echoUpdate },
  ],
  smb_app_state_sync: (value, path) => [
    { items: own(value, 'state_sync'), path: `${path}/state_sync`, read: contactUpdate },
  ],
  history: (value, path) => {
    const business = phoneDigits(textAt(value, 'metadata', 'display_phone_number'))
    const read = (person: string | undefined) => (raw: unknown) => pastUpdate(raw, { person, business })
    const threads = listOf(own(value, 'history')).flatMap((chunk, at) =>
      listOf(own(chunk, 'threads')).map((thread, of) => ({
        items: own(thread, 'messages'),
        path: `${path}/history/${at}/threads/${of}/messages`,
        read: read(textAt(thread, 'id')),
      })),
    )
    // The media of messages that came without them before.
    return [...threads, { items: own(value, 'messages'), path: `${path}/messages`, read: read(undefined) }]
  },
}

/**
 * The updates of a change of one of these fields; undefined for another field. A change may have none, as where the business
 * shares no history.
 */
export function coexistenceUpdates(field: unknown, value: unknown, path: string): Update[] | undefined {
  if (typeof field !== 'string' || !Object.hasOwn(FIELDS, field)) return undefined
  return FIELDS[field]?.(value, path).flatMap((list): Update[] => {
    const { items, path: at, read } = list
    if (items === undefined) return []
    if (!Array.isArray(items)) return [{ kind: 'unknown', fate: 'malformed', path: at, raw: items }]
    return items.map((raw, index) => ({ path: `${at}/${index}`, raw, ...read(raw) }))
  })
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** What the business wrote to somebody in its own app. */
function echoUpdate(raw: unknown): UpdateFate {
  const person = textAt(raw, 'to') ?? textAt(raw, 'to_user_id')
  const id = textAt(raw, 'id')
  if (!isJsonObject(raw) || person === undefined || id === undefined) return MALFORMED
  const user = { phone: person }
  return accepted(said({ id, thread: person, user, raw: withField(raw, 'smb_message_echoes') }))
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
  return accepted(said({ id: messageId, thread: other, user: { phone: other }, raw: past }))
}

/** What the business calls somebody in its own app. */
function contactUpdate(raw: unknown): UpdateFate {
  const number = textAt(raw, 'contact', 'phone_number')
  const person = phoneDigits(number) ?? textAt(raw, 'contact', 'user_id')
  if (!isJsonObject(raw) || textAt(raw, 'type') !== 'contact' || person === undefined) return MALFORMED
  const id = JSON.stringify(['contact', person, own(raw, 'metadata', 'timestamp'), own(raw, 'action')])
  return accepted(
    said({ id, thread: person, user: { phone: person }, raw: withField(raw, 'smb_app_state_sync') }),
  )
}

const accepted = (read: ReturnType<typeof said>): UpdateFate => ({
  kind: 'message',
  fate: 'accepted',
  ...read,
})
