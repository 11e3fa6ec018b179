import { randomUUIDv7 } from 'node:crypto'
import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import type { Dependencies } from '../dependencies.ts'
import { peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import {
  findPerson,
  type PeopleAccess,
  type PersonName,
  requireMayWrite,
  requireReadable,
} from './find-person.ts'
import { emptyPerson } from './settle-person.ts'
import { suppressAddresses } from './suppress-addresses.ts'
import { viewOf } from './view.ts'

const MAX_ROUNDS = 10
const QUERY_MS = 5_000

interface Changing {
  req: Pick<Request, 'get'>
  workspace: number
  name: PersonName
  access: PeopleAccess
  /** Makes somebody where there is nobody of that name. */
  isMade?: boolean
  change(current: PersonRecord): PersonRecord
}

/** Writes one person as `change` makes them; it is tried again where somebody else wrote meanwhile. */
export async function changePerson(dependencies: Dependencies, changing: Changing): Promise<PersonRecord> {
  const { req, workspace, name, access, isMade = false, change } = changing
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findPerson(dependencies, workspace, name)
    if (found === undefined && isMade) {
      requireTag(req, undefined)
      const person = change(emptyPerson(workspace, { _id: randomUUIDv7(), now: new Date() }))
      requireMayWrite(access, [], person)
      if (await isInserted(dependencies, person)) return person
      if ((await findPerson(dependencies, workspace, name)) === undefined) throw new Problem('address_taken')
      continue
    }
    const current = requireReadable(access.read, found)
    requireMayWrite(access, [current])
    requireTag(req, current)
    const next = change(current)
    requireMayWrite(access, [current], next)
    const isLarger = next.addresses.some((one) => !current.addresses.includes(one))
    if (isLarger) await requireFree(dependencies, next)
    await suppressAddresses(dependencies.dispatcher, workspace, [
      { before: { ...current, consent: next.consent }, after: next },
    ])
    if (await isReplaced(dependencies, next)) return { ...next, revision: next.revision + 1 }
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing this person.' })
}

/** Throws `address_taken`, before addresses of others are suppressed. */
async function requireFree(
  { connection }: Pick<Dependencies, 'connection'>,
  { _id, workspace, addresses }: PersonRecord,
): Promise<void> {
  const others = { workspace, addresses: { $in: addresses }, _id: { $ne: _id } }
  const found = await peopleOf(connection).findOne(others, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
  if (found !== null) throw new Problem('address_taken')
}

/** False where somebody has one of the addresses. */
async function isInserted(
  { connection }: Pick<Dependencies, 'connection'>,
  person: PersonRecord,
): Promise<boolean> {
  try {
    await peopleOf(connection).insertOne(person)
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** False where somebody else wrote meanwhile. Throws `address_taken`. */
async function isReplaced(
  { connection }: Pick<Dependencies, 'connection'>,
  person: PersonRecord,
): Promise<boolean> {
  const { _id, revision } = person
  try {
    const next = { ...person, revision: revision + 1 }
    return (await peopleOf(connection).replaceOne({ _id, revision }, next)).matchedCount === 1
  } catch (error) {
    if (isDuplicate(error)) throw new Problem('address_taken')
    throw error
  }
}

const etagOf = ({ revision }: PersonRecord): string => `"${revision}"`

/** Throws `precondition_failed` unless a person has one of the tags that `If-Match` names. */
export function requireTag(req: Pick<Request, 'get'>, person: PersonRecord | undefined): void {
  const asked = req.get('if-match')
  if (asked === undefined) return
  const tags = asked.split(',').map((tag) => tag.trim())
  const isThere = person !== undefined && (tags.includes('*') || tags.includes(etagOf(person)))
  if (!isThere) throw new Problem('precondition_failed')
}

/** Sends a person with their tag. */
export function sendPerson(res: Response, person: PersonRecord): void {
  res.set('etag', etagOf(person)).json(viewOf(person))
}
