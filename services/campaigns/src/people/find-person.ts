import type { Caller } from '@parley/shared/internal-token'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { addressText } from '@parley/shared/providers/address'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { JOINED_INDEX, peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { readAddress } from './person-schema.ts'

const QUERY_MS = 5_000
const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** How a path names a person. */
export const personParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  description: 'The `_id` of a person, or an address of theirs: `phone:5511988887777`',
  schema: z.string().min(1).max(300),
  required: true,
  example: 'phone:5511988887777',
}

/** The person that a path names: by id, by an id that was joined, or by an address. */
export type PersonName = { id: string } | { address: string }

/** Throws `invalid_id` for a text that is neither an id nor an address. */
export function personName({ id }: { id: string }): PersonName {
  if (ID.test(id)) return { id }
  const address = readAddress(id)
  if (address !== undefined) return { address: addressText(address) }
  throw new Problem('invalid_id', {
    detail: 'It is neither the id of a person nor an address such as phone:5511988887777.',
  })
}

/** The people of the caller's workspace that a decision lets through. */
export function visibleTo(caller: Caller, decision: Decision): mongo.Filter<PersonRecord> {
  const workspace = caller.workspace._id
  if (decision.kind === 'none') return { workspace, $nor: [{}] }
  return decision.kind === 'some' ? { workspace, $and: [decision.filter] } : { workspace }
}

/** The person, in whose workspace ever a caller is; undefined for none. */
export async function findPerson(
  { connection }: Pick<Dependencies, 'connection'>,
  workspace: number,
  name: PersonName,
): Promise<PersonRecord | undefined> {
  const people = peopleOf(connection)
  const options = { maxTimeMS: QUERY_MS }
  if ('address' in name)
    return (await people.findOne({ workspace, addresses: name.address }, options)) ?? undefined
  const found =
    (await people.findOne({ _id: name.id, workspace }, options)) ??
    (await people.findOne({ workspace, joined: name.id }, { ...options, hint: JOINED_INDEX }))
  return found ?? undefined
}

/** Throws `not_found` where there is none that the caller may read. */
export function requireReadable(read: Decision, person: PersonRecord | undefined): PersonRecord {
  if (person === undefined || !allows(read, person)) throw new Problem('not_found')
  return person
}

/** The decisions about which people a caller may read and write. */
export interface PeopleAccess {
  read: Decision
  write: Decision
}

/** Throws `forbidden` where the role lets nobody be written. */
export async function peopleAccess(
  { authorizer }: Pick<Dependencies, 'authorizer'>,
  caller: Caller,
): Promise<PeopleAccess> {
  const write = await authorizer.require(caller, 'people', 'write')
  return { read: await authorizer.decide(caller, 'people', 'read'), write }
}

/**
 * Throws where the caller may not make `after` of those who were there: `not_found` for one that it may not even see where
 * it named that one, else `forbidden`.
 */
export function requireMayWrite(
  { write }: PeopleAccess,
  before: readonly PersonRecord[],
  after?: PersonRecord,
): void {
  if (!before.every((one) => allows(write, one)))
    throw new Problem('forbidden', { detail: 'The role may not write this person.' })
  if (after !== undefined && !allows(write, after))
    throw new Problem('forbidden', { detail: 'The role does not allow this content.' })
}
