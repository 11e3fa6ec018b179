import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { addressText } from '@parley/shared/providers/address'
import type { PersonMessage, Update } from '@parley/shared/providers/inbound'
import { type People, type Place, placeOf } from '../people/people.ts'
import type { PersonRecord } from '../people/person.ts'

/** A message with the thread that it goes to, in that thread and with all addresses of its person. */
export interface Placed extends Place {
  message: PersonMessage
  /** Addresses that the message says its person has left, as far as nobody else has them since. */
  left?: string[]
}

/** Persons whose claims are under way at a time. */
const AT_ONCE = 16

/**
 * Says of each update whose it is, and where the messages among them go. What is said of one person is taken one after the
 * other, as what they change counts from then on. Rejects with `unavailable`: a message that might go to somebody else's
 * thread waits.
 */
export async function placesOf(
  people: Pick<People, 'claim' | 'note'>,
  { workspace, updates }: { workspace: number; updates: readonly Update[] },
): Promise<Map<Update, Placed>> {
  const places = new Map<Update, Placed>()
  const inFlight = new Set<string>()
  let placing: Promise<unknown>[] = []
  const ended = async () => {
    await Promise.all(placing)
    placing = []
    inFlight.clear()
  }
  for (const update of updates) {
    if (update.fate !== 'accepted') continue
    const addresses = update.person?.addresses.map(addressText) ?? []
    if (placing.length === AT_ONCE || addresses.some((one) => inFlight.has(one))) await ended()
    for (const one of addresses) inFlight.add(one)
    placing.push(placeOfUpdate(people, workspace, update).then((found) => found && places.set(update, found)))
  }
  await ended()
  return places
}

async function placeOfUpdate(
  people: Pick<People, 'claim' | 'note'>,
  workspace: number,
  update: Extract<Update, { fate: 'accepted' }>,
): Promise<Placed | undefined> {
  const { kind, person } = update
  const thread = kind === 'message' ? update.message.thread.extId : person?.addresses[0]?.value
  const isNamed = person !== undefined && isName(thread)
  if (kind === 'message' && !isNamed) return unplaced(update)
  if (!isNamed) return undefined
  const named = { ...person, workspace, thread }
  if (kind === 'message') {
    const found = await people.claim(named)
    const left = (person.left ?? []).map(addressText).filter((one) => isLeftBy(found, one))
    return { ...inThread(update.message, found), left }
  }
  await people.note(named)
  return undefined
}

const isLeftBy = ({ addresses, left }: PersonRecord, address: string): boolean =>
  addresses.includes(address) && left.includes(address)

/** True for a text that can be stored as the name of a thread; a message with another one is left out. */
const isName = (text: string | null | undefined): text is string =>
  typeof text === 'string' && text !== '' && text.length <= MAX_ID_CHARACTERS && text.isWellFormed()

/** Leaves a message that names nobody in the thread that the provider names. */
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
