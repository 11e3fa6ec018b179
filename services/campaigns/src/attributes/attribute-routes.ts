import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { peopleOf } from '../store/people-collection.ts'
import {
  ATTRIBUTE_TYPES,
  type Attribute,
  type AttributesRecord,
  attributesOf,
  findAttributes,
} from './attribute-store.ts'

const MAX_ATTRIBUTES = 50
const MAX_BYTES = 64 * 1024
/** So many people lose values in one statement, and the statements of one request take so long. */
const BATCH = 5_000
const REMOVAL_MS = 15_000
const QUERY_MS = 5_000

const attribute = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z]\w{0,39}$/i, { error: 'is not a letter and up to 39 letters, digits and underscores' }),
  type: z.enum(ATTRIBUTE_TYPES).describe('`date` is a day such as 2026-05-31'),
})
const declared = z
  .strictObject({ attributes: z.array(attribute).max(MAX_ATTRIBUTES) })
  .meta({ id: 'Attributes', description: 'What may be known of a person beside name, language and tags' })
const example = { attributes: [{ name: 'city', type: 'text' }] }
const one = { path: '/rest/people/attributes', tag: 'people', resource: 'people' } as const

const readAttributes = route({
  ...one,
  method: 'GET',
  access: 'read',
  id: 'readAttributes',
  summary: 'Read which attributes people have',
  response: { schema: declared, example },
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res) => {
      const caller = callerOf(res)
      await authorizer.require(caller, 'people', 'read')
      const { attributes } = await findAttributes(connection, caller.workspace._id)
      res.json({ attributes })
    },
})

const putAttributes = route({
  ...one,
  method: 'PUT',
  access: 'write',
  id: 'putAttributes',
  summary: 'Declare which attributes people have',
  description:
    'Replaces the list. An attribute that is not on it any more is taken from everybody; 503 says that this goes on with the next request. The type of an attribute stays: take it away first. Needs the right to write all people.',
  body: { schema: declared, example, maxBytes: MAX_BYTES },
  response: { schema: declared, example },
  errors: ['precondition_failed'],
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const write = await authorizer.require(caller, 'people', 'write')
      if (write.kind !== 'all')
        throw new Problem('forbidden', { detail: 'The role may not write all people.' })
      const { attributes } = asked.body()
      await declare(connection, caller.workspace._id, attributes)
      res.json({ attributes })
    },
})

/** Names that go are marked first, and free again when nobody has a value of theirs. */
async function declare(connection: Connection, workspace: number, attributes: Attribute[]): Promise<void> {
  const before = await findAttributes(connection, workspace)
  requireDeclarable(before, attributes)
  const names = new Set(attributes.map(({ name }) => name))
  const gone = before.attributes.map(({ name }) => name).filter((name) => !names.has(name))
  const removed = [...new Set([...before.removed, ...gone])]
  const revision = before.revision + 1
  await write(connection, { _id: workspace, attributes, removed, revision })
  if (removed.length === 0) return
  await takeFromEverybody(connection, workspace, removed)
  await write(connection, { _id: workspace, attributes, removed: [], revision: revision + 1 })
}

function requireDeclarable({ attributes: before, removed }: AttributesRecord, attributes: Attribute[]): void {
  const types = new Map(before.map(({ name, type }) => [name, type]))
  const errors = attributes.flatMap(({ name, type }, at) => {
    const path = `/attributes/${at}`
    const isRepeated = attributes.findIndex((other) => other.name === name) < at
    if (isRepeated) return [{ path: `${path}/name`, code: 'repeated', message: 'is there twice' }]
    if (removed.includes(name))
      return [{ path: `${path}/name`, code: 'being_removed', message: 'is still being taken from people' }]
    const known = types.get(name)
    if (known === undefined || known === type) return []
    return [{ path: `${path}/type`, code: 'type_changed', message: `is ${known}, which does not change` }]
  })
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}

async function write(connection: Connection, next: AttributesRecord): Promise<void> {
  const { _id, revision } = next
  const before = revision === 1 ? { _id, revision: { $exists: false } } : { _id, revision: revision - 1 }
  const collection = attributesOf(connection)
  const { upsertedCount, matchedCount } = await collection
    .replaceOne(before, next, { upsert: revision === 1 })
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code === DUPLICATE) return { upsertedCount: 0, matchedCount: 0 }
      throw error
    })
  if (upsertedCount + matchedCount === 0)
    throw new Problem('precondition_failed', { detail: 'The attributes were just changed.' })
}

const DUPLICATE = 11_000

async function takeFromEverybody(connection: Connection, workspace: number, names: string[]): Promise<void> {
  const people = peopleOf(connection)
  const fields = names.map((name) => `attributes.${name}`)
  const having = { workspace, $or: fields.map((field) => ({ [field]: { $exists: true } })) }
  const without = {
    $unset: Object.fromEntries(fields.map((field) => [field, '' as const])),
    $inc: { revision: 1 },
  }
  const deadline = performance.now() + REMOVAL_MS
  for (;;) {
    const found = await people
      .find(having, { maxTimeMS: QUERY_MS, projection: { _id: 1 } })
      .limit(BATCH)
      .toArray()
    await people.updateMany({ _id: { $in: found.map(({ _id }) => _id) } }, without)
    if (found.length < BATCH) return
    if (performance.now() > deadline)
      throw new Problem('unavailable', {
        detail: 'The values of what was taken away are still being removed: send the same again.',
      })
  }
}

/** The operations on the attributes that people have. */
export const attributeRoutes: readonly Route<Dependencies>[] = [readAttributes, putAttributes]
