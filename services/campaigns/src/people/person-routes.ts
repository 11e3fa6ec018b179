import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { AttributeValue } from '../attributes/attribute-values.ts'
import type { Dependencies } from '../dependencies.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { consentChangesIn, storeConsent } from './change-consent.ts'
import { changePerson, requireTag, sendPerson } from './change-person.ts'
import {
  findPerson,
  peopleAccess,
  personName,
  personParameter,
  requireMayWrite,
  requireReadable,
} from './find-person.ts'
import { listPeople } from './list-people.ts'
import { type Outcome, upsertPerson } from './people-store.ts'
import { newPerson, personBody, personExample, personPatch, personView } from './person-schema.ts'
import { patchedPerson, replacedPerson, requireAttributes, requireSameConsent } from './write-person.ts'

const MAX_BYTES = 256 * 1024

const ifMatch = {
  in: 'header',
  name: 'If-Match',
  description: 'Only where the person still has this tag; 412 otherwise',
  schema: z.string(),
} as const
const etag = { name: 'ETag', description: 'The version, for If-Match' }

const one = { path: '/rest/people/{id}', tag: 'people' } as const
const response = { schema: personView, example: personExample, headers: [etag] }
const bodyExample = {
  addresses: ['phone:5511988887777'],
  name: 'João Souza',
  language: 'pt_BR',
  timeZone: 'America/Sao_Paulo',
  tags: ['vip'],
}

const readPerson = route({
  ...one,
  method: 'GET',
  access: 'read',
  id: 'readPerson',
  summary: 'Read a person',
  description: 'The id of somebody who was joined leads to whom they were joined to.',
  parameters: [personParameter],
  response,
  errors: ['invalid_id', 'not_found'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    const name = personName(req.params)
    const caller = callerOf(res)
    const read = await dependencies.authorizer.require(caller, 'people', 'read')
    const person = await findPerson(dependencies, caller.workspace._id, name)
    sendPerson(res, requireReadable(read, person))
  },
})

const postPerson = route({
  method: 'POST',
  path: '/rest/people',
  access: 'write',
  id: 'postPerson',
  tag: 'people',
  summary: 'Add a person, or what is known of one',
  description:
    'Who has one of the addresses already is changed: fields that are sent are written, tags are added. Who has several of them are one person from then on.',
  body: { schema: newPerson, example: bodyExample, maxBytes: MAX_BYTES },
  response,
  handle: (dependencies: Dependencies) => async (_req, res, asked) => {
    const caller = callerOf(res)
    const access = await peopleAccess(dependencies, caller)
    const body = asked.body()
    const workspace = caller.workspace._id
    await requireAttributes(dependencies, workspace, body)
    const outcome = await upsertPerson({
      ...{ connection: dependencies.connection, dispatcher: dependencies.dispatcher },
      ...{ workspace, claim: claimOf(body) },
      guard: (before, after) => {
        requireMayWrite(access, before, after)
        requireSameConsent(before.length === 1 ? before[0] : undefined, body)
      },
    })
    sendPerson(res, personOf(outcome))
  },
})

const claimOf = (body: z.output<typeof newPerson>) => ({
  addresses: body.addresses,
  name: body.name ?? undefined,
  language: body.language ?? undefined,
  timeZone: body.timeZone ?? undefined,
  attributes: (body.attributes ?? undefined) as Record<string, AttributeValue> | undefined,
  tags: body.tags ?? undefined,
})

function personOf(outcome: Outcome): PersonRecord {
  if (outcome.result !== 'refused') return outcome.person
  const message = 'would be too many of one person'
  throw new Problem('validation_failed', {
    errors: [{ path: `/${outcome.reason}`, code: 'too_many', message }],
  })
}

const putPerson = route({
  ...one,
  method: 'PUT',
  access: 'write',
  id: 'putPerson',
  summary: 'Replace a person, or add one under an address',
  description:
    'By `_id` only who is there is replaced; by an address somebody is added where nobody has it. Consent and last contact stay.',
  parameters: [personParameter, ifMatch],
  body: { schema: personBody, example: bodyExample, maxBytes: MAX_BYTES },
  response,
  errors: ['invalid_id', 'not_found', 'precondition_failed', 'address_taken'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const name = personName(req.params)
    const caller = callerOf(res)
    const access = await peopleAccess(dependencies, caller)
    const body = asked.body()
    const workspace = caller.workspace._id
    await requireAttributes(dependencies, workspace, body)
    const whole = 'address' in name ? { ...body, addresses: withAddress(body.addresses, name.address) } : body
    const person = await changePerson(dependencies, {
      ...{ req, workspace, name, access, isMade: 'address' in name },
      change: (current) => {
        requireSameConsent(current, body)
        return replacedPerson(current, whole)
      },
    })
    sendPerson(res, person)
  },
})

const withAddress = (addresses: readonly string[] | undefined, address: string): string[] => [
  ...new Set([...(addresses ?? []), address]),
]

const patchPerson = route({
  ...one,
  method: 'PATCH',
  access: 'write',
  id: 'patchPerson',
  summary: 'Change a person',
  description:
    'Merges the body into the person (RFC 7396): null takes a field or an attribute away. A change of `consent` counts for all of their addresses once it is answered with 200.',
  parameters: [personParameter, ifMatch],
  body: {
    schema: personPatch,
    example: { name: 'João Souza' },
    types: ['application/json', 'application/merge-patch+json'],
    maxBytes: MAX_BYTES,
  },
  response,
  errors: ['invalid_id', 'not_found', 'precondition_failed', 'address_taken'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const name = personName(req.params)
    const caller = callerOf(res)
    const access = await peopleAccess(dependencies, caller)
    const body = asked.body()
    const workspace = caller.workspace._id
    await requireAttributes(dependencies, workspace, body, { isPatch: true })
    const found = requireReadable(access.read, await findPerson(dependencies, workspace, name))
    requireMayWrite(access, [found], patchedPerson(found, body))
    requireTag(req, found)
    const changes = consentChangesIn(found, body)
    await storeConsent(dependencies, found, changes)
    const person = await changePerson(dependencies, {
      ...{ req, workspace, name, access },
      change: (current) => {
        const patched = patchedPerson(current, body)
        return { ...patched, consent: { ...patched.consent, ...changes } }
      },
    })
    sendPerson(res, person)
  },
})

/** The operations of `/rest/people` on single people, and their list. */
export const personRoutes: readonly Route<Dependencies>[] = [
  ...[listPeople, postPerson, readPerson, putPerson, patchPerson],
]
