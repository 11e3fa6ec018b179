/** A person whom a provider named. Who was only written to has no record: the thread is called as the address is. */
export interface PersonRecord {
  _id: string
  workspace: number
  /** Every address, as `kind:value`; each is one person's of the workspace. */
  addresses: string[]
  /** Addresses that the person said they left; who is seen there next is somebody else. */
  left: string[]
  /** The first is their thread; the others were joined to it. Each is one person's of the workspace. */
  threads: string[]
  /** Since when the first thread is known. */
  since: Date
  revision: number
  expiresAt: Date
}

/** A provider's statement about one person. */
export interface Claim {
  workspace: number
  addresses: string[]
  left: string[]
  /** The name of their thread where they are new. */
  thread: string
  /** When they were first seen, as far as the one who claims knows. */
  since: Date
}

/** The result of a claim for those whom it is about. */
export interface Settled {
  person: PersonRecord
  /** How it differs from what is stored; `new` where nobody of them is stored. */
  change: 'none' | 'new' | 'changed'
  /** Those who turned out to be the same person. */
  joined: PersonRecord[]
  /** Those who left an address of this person's, without it. */
  without: PersonRecord[]
}

/** Of a person; the oldest go, those that they left first. */
const MAX_ADDRESSES = 32
const MAX_THREADS = 16
const PHONE = 'phone:'
/** It is written again that long after it was last said to be stored longer. */
const RENEWED_MS = 30 * 24 * 60 * 60 * 1_000

/** Names that the thread of a new person may have; the first that nobody has is taken. */
export const namesIn = ({ addresses, thread }: Pick<Claim, 'addresses' | 'thread'>): string[] =>
  union([thread], addresses.map(textOf))

/**
 * Settles the persons `known` who have any of the claim's addresses, or a thread of one of its names. All of its
 * addresses are one person's, so those who have one become one, and the thread that is known longest goes on. An
 * address that somebody left joins nobody. `fresh` is the id of a new person, and `expiresAt` until when it is stored.
 */
export function settle(
  known: PersonRecord[],
  claim: Claim,
  fresh: Pick<PersonRecord, '_id' | 'expiresAt'>,
): Settled {
  const addresses = claim.addresses.filter((address) => !wasLeft(address, known, claim))
  const same = known.filter((one) => addresses.some((address) => isAt(one, address))).sort(byAge)
  const others = known.filter((one) => !same.includes(one))
  const without = others
    .filter((one) => one.addresses.some((address) => addresses.includes(address)))
    .map((one) => ({ ...one, addresses: one.addresses.filter((address) => !addresses.includes(address)) }))
  const isFree = (name: string) => !others.some(({ threads }) => threads.includes(name))
  const [first, ...joined] = same
  if (first === undefined) {
    const { workspace, since } = claim
    const left = hasOther(claim) ? claim.left : []
    const threads = [namesIn(claim).find(isFree) ?? `${claim.thread}/${fresh._id}`]
    const person = { ...fresh, workspace, addresses, left, threads, since, revision: 0 }
    return { person, change: 'new', joined, without }
  }
  const before = same.flatMap((one) => one.left.filter((address) => !returnsTo(claim, address)))
  const left = union(before, hasOther(claim) ? claim.left : []).slice(-MAX_ADDRESSES)
  const person: PersonRecord = {
    ...first,
    addresses: bounded(union(...same.map((one) => one.addresses), addresses), left),
    left,
    threads: threadsOf(same, { ...claim, addresses }, isFree),
    since: claim.since < first.since ? claim.since : first.since,
    expiresAt: +fresh.expiresAt - +first.expiresAt > RENEWED_MS ? fresh.expiresAt : first.expiresAt,
  }
  const isSame = (['addresses', 'left', 'threads', 'since', 'expiresAt'] as const).every(
    (field) => String(person[field]) === String(first[field]),
  )
  return {
    person,
    change: isSame && joined.length + without.length === 0 ? 'none' : 'changed',
    joined,
    without,
  }
}

/** Somebody whom another of the addresses shows to be meant has left it: it is not theirs any more, or it comes late. */
function wasLeft(address: string, known: PersonRecord[], claim: Claim): boolean {
  if (returnsTo(claim, address)) return false
  const others = claim.addresses.filter((other) => other !== address && !claim.left.includes(other))
  return known.some((one) => one.left.includes(address) && others.some((other) => isAt(one, other)))
}

/** True when somebody who changes an address comes back to one that they left. */
const returnsTo = ({ addresses, left }: Claim, address: string): boolean =>
  left.length > 0 && addresses.includes(address) && !left.includes(address)

/** A person has at least one address that they did not leave. */
const hasOther = ({ addresses, left }: Claim): boolean => addresses.some((address) => !left.includes(address))

const isAt = ({ addresses, left }: PersonRecord, address: string): boolean =>
  addresses.includes(address) && !left.includes(address)

const byAge = (one: PersonRecord, other: PersonRecord): number =>
  one.since.getTime() - other.since.getTime() || (one._id < other._id ? -1 : 1)

/** Callers may have written to a number before it was known to be this person's: such a thread has its name. */
function threadsOf(same: PersonRecord[], claim: Claim, isFree: (name: string) => boolean): string[] {
  const before = union(...same.map((one) => one.threads))
  const had = new Set(same.flatMap((one) => one.addresses))
  const numbers = claim.addresses.filter((address) => address.startsWith(PHONE) && !had.has(address))
  const isOlder = same.every(({ since }) => claim.since < since) && isFree(claim.thread)
  return union(isOlder ? [claim.thread] : [], before, numbers.map(textOf).filter(isFree)).slice(
    0,
    MAX_THREADS,
  )
}

const textOf = (address: string): string => address.slice(address.indexOf(':') + 1)

const union = (...lists: string[][]): string[] => [...new Set(lists.flat())]

function bounded(addresses: string[], left: string[]): string[] {
  const excess = addresses.length - MAX_ADDRESSES
  if (excess <= 0) return addresses
  const leaving = [...addresses.filter((one) => left.includes(one)), ...addresses].slice(0, excess)
  return addresses.filter((one) => !leaving.includes(one))
}
