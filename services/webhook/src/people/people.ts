import { randomUUID } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import { group } from '@parley/shared/group'
import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import { type Address, addressText, type NamedPerson } from '@parley/shared/providers/address'
import { inTransaction } from '@parley/shared/transaction'
import { isUnavailable } from '@parley/shared/unavailable'
import { withTimeout } from '@parley/shared/with-timeout'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import { type Claim, namesIn, type PersonRecord, type Settled, settle } from './person.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
/** Longer than anything else of a person is stored; the thread of who comes back later is a new one. */
const RETENTION_MS = 400 * DAY_MS
/** An instance trusts its memory of an address for a second: another one may have learnt more. */
const FRESH_MS = 1_000
const MAX_REMEMBERED = 50_000
const QUERY_MS = 1_000
const ERASE_MS = 2_000
/** The wait for a database that may be unavailable; then nobody waits for a while. */
const LOOKUP_MS = 500
const CLAIM_MS = 1_500
const PAUSE_MS = 1_000
const MAX_ROUNDS = 10

const fresh = () => ({ _id: randomUUID(), expiresAt: new Date(Date.now() + RETENTION_MS) })

/** The thread of a person, and the names of those that were joined to it. */
export interface Place {
  thread: string
  joined: string[]
}

/** The persons that addresses belong to. */
export interface People {
  /**
   * Whoever has an address; undefined where nobody is known to, or the database is unavailable:
   * what is sent to an address under its own name is found again once it is known whose it is.
   */
  find(workspace: number, address: Address): Promise<PersonRecord | undefined>
  /**
   * Takes what a provider says of a person, so that all that it names is theirs from now on. `thread` is what the thread
   * of a new one is called. Rejects with `unavailable`.
   */
  claim(named: NamedPerson & { workspace: number; thread: string; since?: Date }): Promise<PersonRecord>
  /** As {@link claim}, where it comes again and again: what is remembered is not looked up, nor waited for. */
  note(named: NamedPerson & { workspace: number; thread: string }): Promise<void>
  /** Returns the stored people who have one of the addresses. Rejects while the database is unavailable. */
  known(workspace: number, addresses: readonly string[]): Promise<PersonRecord[]>
  /** Erases what {@link known} finds. Idempotent. */
  erase(workspace: number, addresses: readonly string[]): Promise<void>
  /** Forgets who has a thread. Idempotent. */
  forget(workspace: number, thread: string): Promise<void>
}

export const placeOf = ({ threads: [thread = '', ...joined] }: PersonRecord): Place => ({ thread, joined })

/** Persons in the service's database, of which each instance remembers some. */
export function createPeople(options: {
  people: mongo.Collection<PersonRecord>
  startSession(): mongo.ClientSession
}): People {
  const { people, startSession } = options
  const remembered = new LRUCache<string, { person: PersonRecord | undefined; until: number }>({
    max: MAX_REMEMBERED,
  })
  const keyOf = (workspace: number, address: string) => `${workspace}/${address}`
  const remember = (workspace: number, addresses: string[], person: PersonRecord | undefined) => {
    const until = performance.now() + FRESH_MS
    for (const address of addresses) remembered.set(keyOf(workspace, address), { person, until })
  }
  /** The person remembered for an address; nothing where that is not fresh, unless any will do. */
  const recall = (workspace: number, address: string, { isAnyFine }: { isAnyFine: boolean }) => {
    const known = remembered.get(keyOf(workspace, address))
    return known !== undefined && (isAnyFine || known.until > performance.now()) ? known : undefined
  }
  const lookUp = group<{ workspace: number; address: string }, PersonRecord | undefined>({
    work: async (asked) => {
      const found = await people.find({ $or: inWorkspaces(asked) }, { maxTimeMS: QUERY_MS }).toArray()
      return asked.map(({ workspace, address }) =>
        found.find((one) => one.workspace === workspace && one.addresses.includes(address)),
      )
    },
    atOnce: 2,
  })
  let pausedUntil = 0
  /** Rejects with `unavailable`, at once where the database was a moment ago. */
  const whileAvailable = async <T>(milliseconds: number, work: () => Promise<T>): Promise<T> => {
    if (performance.now() < pausedUntil) throw new Problem('unavailable')
    try {
      return await withTimeout(milliseconds, work())
    } catch (error) {
      if (isUnavailable(error)) pausedUntil = performance.now() + PAUSE_MS
      throw error
    }
  }
  const find = async (workspace: number, address: string) => {
    try {
      const person = await whileAvailable(LOOKUP_MS, () => lookUp({ workspace, address }))
      remember(workspace, [address], person)
      return person
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return recall(workspace, address, { isAnyFine: true })?.person
    }
  }
  /** The person that a claim says nothing new of, as far as is remembered. */
  const recallClaimed = (claim: Claim, how: { isAnyFine: boolean }) => {
    const { workspace, addresses } = claim
    const found = addresses.map((address) => recall(workspace, address, how)?.person)
    const persons = found.filter((one) => one !== undefined)
    if (persons.length < found.length) return undefined
    const { change, person } = settle([...new Set(persons)], claim, fresh())
    return change === 'none' ? person : undefined
  }
  const settleStored = async (claim: Claim): Promise<PersonRecord> => {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const known = await people.find(anyOf(claim), { maxTimeMS: QUERY_MS }).toArray()
      const settled = settle(known, claim, fresh())
      if (!(await write({ people, startSession }, settled))) continue
      const { person, without } = settled
      for (const one of [...without, person]) remember(claim.workspace, one.addresses, one)
      return person
    }
    throw new Problem('unavailable', { detail: 'A person is changed by too many at once.' })
  }
  const claimed = async (claim: Claim, how: { isAnyFine: boolean }): Promise<PersonRecord> => {
    const known = recallClaimed(claim, how)
    if (known !== undefined) return known
    try {
      return await whileAvailable(CLAIM_MS, () => settleStored(claim))
    } catch (error) {
      const remembered = isUnavailable(error) ? recallClaimed(claim, { isAnyFine: true }) : undefined
      if (remembered === undefined) throw error
      return remembered
    }
  }
  const claimOf = ({ workspace, addresses, left = [], thread, since = new Date() }: Named): Claim => ({
    ...{ workspace, thread, since },
    addresses: addresses.map(addressText),
    left: left.map(addressText),
  })
  return {
    async find(workspace, address) {
      const text = addressText(address)
      const known = recall(workspace, text, { isAnyFine: false })
      return known === undefined ? find(workspace, text) : known.person
    },
    claim: (named) => claimed(claimOf(named), { isAnyFine: false }),
    async note(named) {
      if (named.addresses.length < 2) return
      await claimed(claimOf(named), { isAnyFine: true }).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error
      })
    },
    known: (workspace, addresses) =>
      people.find(having(workspace, addresses), { maxTimeMS: ERASE_MS }).toArray(),
    async erase(workspace, addresses) {
      const found = await people.find(having(workspace, addresses), { maxTimeMS: ERASE_MS }).toArray()
      await people.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } })
      for (const address of [...addresses, ...found.flatMap((one) => one.addresses)])
        remembered.delete(keyOf(workspace, address))
    },
    async forget(workspace, thread) {
      const person = await people.findOneAndDelete({ workspace, threads: thread }, { maxTimeMS: QUERY_MS })
      for (const address of person?.addresses ?? []) remembered.delete(keyOf(workspace, address))
    },
  }
}

type Named = Parameters<People['claim']>[0]

function inWorkspaces(asked: Array<{ workspace: number; address: string }>): mongo.Filter<PersonRecord>[] {
  const byWorkspace = Map.groupBy(asked, ({ workspace }) => workspace)
  return [...byWorkspace].map(([workspace, all]) => ({
    workspace,
    addresses: { $in: all.map(({ address }) => address) },
  }))
}

const having = (workspace: number, addresses: readonly string[]): mongo.Filter<PersonRecord> => ({
  workspace,
  addresses: { $in: [...addresses] },
})

const anyOf = (claim: Claim): mongo.Filter<PersonRecord> => ({
  $or: [
    { workspace: claim.workspace, addresses: { $in: claim.addresses } },
    { workspace: claim.workspace, threads: { $in: namesIn(claim) } },
  ],
})

/** False where somebody else wrote meanwhile: then it is settled anew. One person is one write, several a transaction. */
async function write(
  { people, startSession }: { people: mongo.Collection<PersonRecord>; startSession(): mongo.ClientSession },
  { person, change, joined, without }: Settled,
): Promise<boolean> {
  if (change === 'none') return true
  const put = async (one: PersonRecord, session?: mongo.ClientSession) => {
    const { _id, revision } = one
    const next = { ...one, revision: revision + 1 }
    const { matchedCount } = await people.replaceOne({ _id, revision }, next, defined({ session }))
    if (matchedCount === 0) throw new Superseded()
  }
  const putPerson = async (session?: mongo.ClientSession) =>
    change === 'new' ? void (await people.insertOne(person, defined({ session }))) : put(person, session)
  try {
    if (joined.length + without.length === 0) await putPerson()
    else
      await inTransaction({ startSession }, async (session) => {
        for (const { _id, revision } of joined) {
          const { deletedCount } = await people.deleteOne({ _id, revision }, { session })
          if (deletedCount === 0) throw new Superseded()
        }
        for (const one of without) await put(one, session)
        await putPerson(session)
      })
    return true
  } catch (error) {
    if (error instanceof Superseded || isDuplicate(error)) return false
    throw error
  }
}

class Superseded extends Error {}
