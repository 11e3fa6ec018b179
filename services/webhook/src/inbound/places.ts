import { addressText } from '@parley/shared/providers/address'
import type { PersonMessage, Update } from '@parley/shared/providers/inbound'
import { type People, type Place, placeOf } from '../people/people.ts'
import type { PersonRecord } from '../people/person.ts'

/** A message with the thread that it goes to, in that thread and with all addresses of its person. */
export interface Placed extends Place {
  message: PersonMessage
}

/**
 * Says of each update whose it is, one after the other, as what a person changes counts from then on; and where the
 * messages among them go. Rejects with `unavailable`: a message that might be somebody else's thread's waits.
 */
export async function placesOf(
  people: Pick<People, 'claim' | 'note'>,
  { workspace, updates }: { workspace: number; updates: readonly Update[] },
): Promise<Map<Update, Placed>> {
  const places = new Map<Update, Placed>()
  for (const update of updates) {
    if (update.fate !== 'accepted') continue
    const { kind, person } = update
    const thread = kind === 'message' ? update.message.thread.extId : person?.addresses[0]?.value
    if (kind === 'status') {
      if (person !== undefined && thread) await people.note({ ...person, workspace, thread })
    } else if (person === undefined || !thread) places.set(update, unplaced(update))
    else places.set(update, inThread(update.message, await people.claim({ ...person, workspace, thread })))
  }
  return places
}

/** What names nobody stays in the thread that the provider names. */
function unplaced({ message, id }: Extract<Update, { kind: 'message'; fate: 'accepted' }>): Placed {
  return { message, thread: message.thread.extId || id, joined: [] }
}

/** The first that are not left: what a message may have. */
const MAX_ADDRESSES = 8

function inThread(message: PersonMessage, person: PersonRecord): Placed {
  const place = placeOf(person)
  const { user, thread } = message
  const own = user.phone ? addressText({ kind: 'phone', value: user.phone }) : undefined
  const others = person.addresses.filter((one) => one !== own && !person.left.includes(one))
  const addresses = others.slice(-MAX_ADDRESSES)
  return {
    ...place,
    message: {
      ...message,
      user: addresses.length === 0 ? user : { ...user, addresses },
      thread: { ...thread, extId: place.thread },
    },
  }
}
