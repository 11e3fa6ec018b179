import { randomUUIDv7 } from 'node:crypto'
import { pause } from '@parley/shared/every'
import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import { inTransaction } from '@parley/shared/transaction'
import type { Connection, mongo } from 'mongoose'
import { addToHistory, type ConsentEntry, endedFileEntries } from '../store/consent-history.ts'
import { peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import {
  type PersonClaim,
  peopleOfClaim,
  type Settled,
  settlePerson,
  TooMuchOfOnePerson,
} from './settle-person.ts'
import { type Suppressing, suppressAddresses } from './suppress-addresses.ts'

const QUERY_MS = 5_000
/** In each of them one of those who write at once gets through. */
const MAX_ROUNDS = 40
const MAX_PAUSE_MS = 20

/** The outcome of a claim. */
export type Outcome =
  | ({ result: 'created' | 'updated' | 'unchanged'; person: PersonRecord; joined: number } & Pick<
      Settled,
      'consent' | 'staysWithdrawn' | 'isRepeated'
    >)
  | { result: 'refused'; reason: TooMuchOfOnePerson['field'] | 'forbidden' }

interface Upserting {
  connection: Connection
  /** Where addresses of who has withdrawn consent are suppressed before they are written. */
  dispatcher?: Suppressing
  workspace: number
  claims: readonly PersonClaim[]
  /** Throws where this may not be written, by who was there and who is to be there. */
  guard?(before: readonly PersonRecord[], after: PersonRecord): void
  /** Returns true if a claim may be written, where a batch has some that may not. */
  mayWrite?(before: readonly PersonRecord[], after: PersonRecord): boolean
  /** Writes what goes with it in the same transaction. */
  along?(session: mongo.ClientSession, outcomes: readonly Outcome[]): Promise<void>
}

/** Makes or changes the person whom a claim is about; those who turn out to be one person are joined. */
export async function upsertPerson(
  options: Omit<Upserting, 'claims'> & { claim: PersonClaim },
): Promise<Outcome> {
  const { claim, ...rest } = options
  const [outcome] = await upsertPeople({ ...rest, claims: [claim] })
  if (outcome === undefined) throw new Error('a claim without an outcome')
  return outcome
}

/**
 * The same for many claims, one after another, in one write. They are settled anew where somebody else wrote one of those
 * people meanwhile. Rejects with `unavailable`.
 */
export async function upsertPeople(options: Upserting): Promise<Outcome[]> {
  const people = peopleOf(options.connection)
  const addresses = [...new Set(options.claims.flatMap(namedIn))]
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const known = await people
      .find({ workspace: options.workspace, addresses: { $in: addresses } }, { maxTimeMS: QUERY_MS })
      .toArray()
    const settling = settleAll(options, known)
    if (options.dispatcher)
      await suppressAddresses(options.dispatcher, options.workspace, settling.suppressed)
    if (await isWritten(options, settling)) return settling.outcomes
    await pause(Math.random() * MAX_PAUSE_MS)
  }
  throw new Problem('unavailable', { detail: 'These people are changed by too many at once.' })
}

const namedIn = ({ addresses, left }: PersonClaim): string[] => [...addresses, ...(left?.addresses ?? [])]

interface Settling {
  outcomes: Outcome[]
  made: PersonRecord[]
  changed: PersonRecord[]
  gone: PersonRecord[]
  /** Consent that files said of them, and that they do not say any more. */
  ended: ConsentEntry[]
  /** Each person who is written, and as they were. */
  suppressed: { before: PersonRecord | undefined; after: PersonRecord }[]
}

function settleAll(options: Upserting, known: PersonRecord[]): Settling {
  const { workspace, claims, guard, mayWrite } = options
  const stored = new Map(known.map((person) => [person._id, person]))
  const current = new Map<string, PersonRecord>()
  for (const person of known) for (const address of person.addresses) current.set(address, person)
  const after = new Map<string, PersonRecord>()
  const gone = new Map<string, PersonRecord>()
  const ended: ConsentEntry[] = []
  const outcomes = claims.map((claim): Outcome => {
    const before = peopleOfClaim(claim, current)
    const settled = settledOr(before, { ...claim, workspace })
    if (settled instanceof TooMuchOfOnePerson) return { result: 'refused', reason: settled.field }
    const { person, change, joined, consent, staysWithdrawn, isRepeated } = settled
    guard?.(before, person)
    if (mayWrite?.(before, person) === false) return { result: 'refused', reason: 'forbidden' }
    if (change !== 'none') after.set(person._id, person)
    if (change === 'changed') ended.push(...before.flatMap((one) => endedFileEntries(one, person)))
    for (const one of joined) {
      after.delete(one._id)
      gone.set(one._id, one)
    }
    for (const one of before) for (const address of one.addresses) current.delete(address)
    for (const address of person.addresses) current.set(address, person)
    const result = change === 'new' ? 'created' : change === 'none' ? 'unchanged' : 'updated'
    return { result, person, joined: joined.length, consent, staysWithdrawn, isRepeated }
  })
  const written = [...after.values()]
  return {
    ...{ outcomes, ended },
    made: written.filter(({ _id }) => !stored.has(_id)),
    changed: written.filter(({ _id }) => stored.has(_id)),
    gone: [...gone.keys()].flatMap((_id) => stored.get(_id) ?? []),
    suppressed: written.map((after) => ({ before: stored.get(after._id), after })),
  }
}

function settledOr(
  before: readonly PersonRecord[],
  claim: PersonClaim & { workspace: number },
): Settled | TooMuchOfOnePerson {
  try {
    return settlePerson(before, claim, { _id: randomUUIDv7(), now: new Date() })
  } catch (error) {
    if (error instanceof TooMuchOfOnePerson) return error
    throw error
  }
}

/** False where somebody else wrote meanwhile. One statement is one write, several are a transaction. */
async function isWritten(
  { connection, along }: Upserting,
  { made, changed, gone, ended, outcomes }: Settling,
): Promise<boolean> {
  const people = peopleOf(connection)
  const statements: mongo.AnyBulkWriteOperation<PersonRecord>[] = [
    ...gone.map(({ _id, revision }) => ({ deleteOne: { filter: { _id, revision } } })),
    ...changed.map((person) => ({
      replaceOne: {
        filter: { _id: person._id, revision: person.revision },
        replacement: { ...person, revision: person.revision + 1 },
      },
    })),
    ...made.map((document) => ({ insertOne: { document } })),
  ]
  const write = async (session?: mongo.ClientSession) => {
    if (statements.length > 0) {
      const { deletedCount, matchedCount } = await people.bulkWrite(statements, session ? { session } : {})
      if (deletedCount !== gone.length || matchedCount !== changed.length) throw new Superseded()
    }
    if (session) await along?.(session, outcomes)
  }
  try {
    await addToHistory(connection, ...ended)
    if (along === undefined && statements.length < 2) await write()
    else await inTransaction({ startSession: () => connection.getClient().startSession() }, write)
    return true
  } catch (error) {
    if (error instanceof Superseded || isDuplicate(error)) return false
    throw error
  }
}

class Superseded extends Error {}
