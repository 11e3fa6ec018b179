import { isDeepStrictEqual } from 'node:util'
import { type FieldError, Problem } from '@parley/shared/problem'
import { findAttributeTypes } from '../attributes/attribute-store.ts'
import { type AttributeValue, attributeErrors } from '../attributes/attribute-values.ts'
import type { Dependencies } from '../dependencies.ts'
import { nameKeyOf, type PersonRecord } from '../store/person-record.ts'
import type { PersonBody } from './person-schema.ts'
import { consentView } from './view.ts'

type Attributes = Record<string, AttributeValue>

/** Throws `validation_failed` where values are not those of the workspace's attributes. */
export async function requireAttributes(
  { connection }: Pick<Dependencies, 'connection'>,
  workspace: number,
  { attributes }: Pick<PersonBody, 'attributes'>,
  options: { isPatch?: boolean } = {},
): Promise<void> {
  if (!attributes || Object.keys(attributes).length === 0) return
  const errors = attributeErrors(await findAttributeTypes(connection, workspace), attributes, options)
  refuse(errors)
}

/** Throws `validation_failed` where a body says otherwise of what it can't change. */
export function requireSameConsent(person: PersonRecord | undefined, { consent }: PersonBody): void {
  if (consent === undefined) return
  const stored = consentView(person ?? { consent: {} })
  if (!isDeepStrictEqual(consent, stored))
    refuse([{ path: '/consent', code: 'read_only', message: 'is not changed by this' }])
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}

/** The person with the fields of a body in the place of their own. */
export function replacedPerson(person: PersonRecord, body: PersonBody, now = new Date()): PersonRecord {
  const { name: _name, nameKey: _key, language: _language, timeZone: _zone, ...rest } = person
  const { name, language, timeZone } = body
  return {
    ...rest,
    addresses: body.addresses ?? person.addresses,
    ...(name != null && { name, nameKey: nameKeyOf(name) }),
    ...(language != null && { language }),
    ...(timeZone != null && { timeZone }),
    attributes: (body.attributes ?? {}) as Attributes,
    tags: body.tags ?? [],
    updatedAt: now,
  }
}

/** The person with the fields that a patch has; null takes away (RFC 7396). */
export function patchedPerson(person: PersonRecord, patch: PersonBody): PersonRecord {
  const fields = ['name', 'language', 'timeZone', 'tags'] as const
  const body: PersonBody = { addresses: patch.addresses ?? person.addresses, attributes: person.attributes }
  for (const field of fields) {
    const value = patch[field] === undefined ? person[field] : patch[field]
    Object.assign(body, { [field]: value })
  }
  if (patch.attributes === null) body.attributes = {}
  else if (patch.attributes !== undefined) {
    const merged = Object.entries({ ...person.attributes, ...patch.attributes })
    body.attributes = Object.fromEntries(merged.filter(([, value]) => value !== null))
  }
  return replacedPerson(person, body)
}
