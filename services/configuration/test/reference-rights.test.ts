import { beforeAll, describe, expect, test } from '@jest/globals'
import { CONFIGURATION_RESOURCES } from '@parley/shared/configuration-resources'
import type { JsonObject } from '@parley/shared/json-object'
import type { PermissionEntry } from '@parley/shared/permission/entry'
import { allResources } from '../src/resources/all-resources.ts'
import type { Reference, ResourceDefinition } from '../src/resources/definition.ts'
import { TRANSFERRED } from '../src/transfer/configuration-format.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

/** Of each resource: one that a conditional rule lets through, one that it does not, and one that is not there. */
const ADMITTED = 701
const HIDDEN = 702
const MISSING = 703
/** Documents that a role writes itself, and may read. */
const OWN = 500

type Rights = 'none' | 'some' | 'all'

/** The fields that refer to a document, by its resource. */
const references = allResources.flatMap((definition) =>
  [...definition.references, ...(definition.freeReferences ?? [])].map((reference) => ({
    definition,
    reference,
    name: `${definition.name}/${reference.field} → ${reference.to}`,
  })),
)

const entry = (resource: string, read: string, write: string): PermissionEntry => ({
  schema: `{{resource}} == '${resource}'`,
  read,
  write,
})

/** Writes the resource and knows all others, but for what the reference names. */
function roleFor(
  { name }: ResourceDefinition,
  { to, changes }: Reference,
  rights: Rights,
): PermissionEntry[] {
  const others = CONFIGURATION_RESOURCES.filter((resource) => resource !== name && resource !== to)
  const rule = { none: '', some: `{{doc._id}} == ${ADMITTED}`, all: 'true' }[rights]
  const ofOwn = rule === '' ? `{{doc._id}} < ${OWN}` : `{{doc._id}} < ${OWN} || ${rule}`
  return [
    ...others.map((resource) => entry(resource, 'true', 'true')),
    ...(name === to
      ? [entry(name, ofOwn, 'true')]
      : [entry(name, 'true', 'true'), entry(to, rule, changes ? rule : '')]),
  ]
}

const RIGHTS: Rights[] = ['none', 'some', 'all']
const roleName = (at: number, rights: Rights) => `R${at}-${rights}`

const server = configurationForTests({
  roles: {
    ...Object.fromEntries(
      references.flatMap(({ definition, reference }, at) =>
        RIGHTS.map((rights) => [roleName(at, rights), roleFor(definition, reference, rights)]),
      ),
    ),
    READER: [entry('configs', 'true', 'true'), entry('assistant', 'true', '')],
    LOW_ACTIONS: [entry('assistant', 'true', 'true'), entry('actions', '{{doc._id}} <= 3', '')],
  },
})

const call = async (role: string | undefined, method: string, path: string, body?: unknown) =>
  server.call(method, `/rest/${path}`, { ...(role && { role }), ...(body !== undefined && { body }) })

beforeAll(async () => {
  for (const { name } of allResources)
    for (const id of [ADMITTED, HIDDEN]) {
      const { json, status } = await call(undefined, 'PUT', `${name}/${id}`, plain(name))
      if (status !== 200) throw new Error(JSON.stringify(json))
    }
})

/** A body that names as little as it may. */
function plain(name: ResourceDefinition['name']): JsonObject {
  const body: JsonObject = { ...bodies[name] }
  for (const { definition, reference } of references)
    if (definition.name === name && isOptional(definition, reference.field)) delete body[reference.field]
  if (name === 'configs') return { ...body, name: 'other', ownerType: 'team' }
  if (name === 'channels') return { ...body, config: {} }
  return body
}

const isOptional = ({ schema }: ResourceDefinition, field: string): boolean =>
  schema.shape[field]?.safeParse(undefined).success === true

function naming({ definition, reference }: (typeof references)[number], id: number): JsonObject {
  const body = plain(definition.name)
  if (reference.when) body[reference.when.field] = reference.when.values[0]
  const path = reference.field.split('.')
  const isList = definition.indexed[reference.field] === 'integers' || reference.field === 'value.ids'
  const value = isList ? [id] : id
  const [first = '', second] = path
  return { ...body, [first]: second === undefined ? value : { [second]: value } }
}

let next = 1_000
const made = new Map<string, Promise<unknown>>()
/** The document with this body, which names nothing that is asked about here. */
function once(path: string, body: JsonObject): Promise<unknown> {
  const making = made.get(path) ?? call(undefined, 'PUT', path, body)
  made.set(path, making)
  return making
}
const METHODS: Record<
  string,
  (
    role: string,
    definition: ResourceDefinition,
    body: JsonObject,
  ) => Promise<{ response: Awaited<ReturnType<typeof call>>; at: string }>
> = {
  POST: async (role, { name }, body) => ({ response: await call(role, 'POST', name, body), at: '' }),
  'PUT that creates': async (role, { name }, body) => ({
    response: await call(role, 'PUT', `${name}/${(next++ % 400) + 50}`, body),
    at: '',
  }),
  'PUT that replaces': async (role, { name }, body) => {
    await once(`${name}/7`, plain(name))
    return { response: await call(role, 'PUT', `${name}/7`, body), at: '' }
  },
  PATCH: async (role, { name }, body) => {
    await once(`${name}/8`, plain(name))
    return { response: await call(role, 'PATCH', `${name}/8`, body), at: '' }
  },
  import: async (role, { name }, body) => {
    await once(`${name}/9`, plain(name))
    const resources = { [name]: [{ _id: 9, ...body }] }
    return {
      response: await call(role, 'POST', 'import', { version: 1, resources }),
      at: `/resources/${name}/0`,
    }
  },
}

describe.each(references.map((one, at) => ({ ...one, at })))('$name', (one) => {
  const { definition, reference, at } = one
  const isTransferred = TRANSFERRED.includes(definition.name)
  const methods = Object.keys(METHODS).filter((method) => method !== 'import' || isTransferred)

  test.each(methods)(
    '%s is refused to those who may not name it, alike whether it is there or not',
    async (method) => {
      const outcome = async (rights: Rights, id: number) => {
        const write = METHODS[method] as (typeof METHODS)[string]
        const { response, at: place } = await write(roleName(at, rights), definition, naming(one, id))
        const { requestId: _id, instance: _path, errors = [], ...json } = response.json
        const said = errors.map(({ message, ...error }: JsonObject) => ({
          ...error,
          path: String(error.path).slice(place.length),
          message: String(message).replace(String(id), 'ID'),
        }))
        return response.status === 200 ? 200 : { ...json, errors: said }
      }
      const [admitted, hidden, missing] = await Promise.all(
        [ADMITTED, HIDDEN, MISSING].map((id) => outcome('some', id)),
      )
      expect(admitted).toBe(200)
      expect(hidden).toMatchObject({ status: 403, code: 'reference_forbidden' })
      expect(missing).toEqual(hidden)
      const pointer = `/${reference.field.replaceAll('.', '/')}`
      expect(
        (hidden as { errors: { path: string }[] }).errors.map(({ path }) => path.replace(/\/0$/, '')),
      ).toEqual([pointer])
      expect(await outcome('none', MISSING)).toEqual(hidden)
      if (definition.name !== reference.to) expect(await outcome('all', MISSING)).toBe(200)
    },
  )
})

test('what a document named before may stay, whoever writes it, until it is taken away', async () => {
  const role = 'LOW_ACTIONS'
  for (const id of [1, 2, 5]) await call(undefined, 'PUT', `actions/${id}`, bodies.actions)
  const named = { ...plain('assistant'), actions: [5, 1] }
  await call(undefined, 'PUT', 'assistant/300', named)
  const status = async (method: string, body: object) =>
    (await call(role, method, 'assistant/300', body)).status
  expect(await status('PATCH', { name: 'other' })).toBe(200)
  expect(await status('PUT', { ...named, actions: [1, 5, 2] })).toBe(200)
  expect(await status('PATCH', { actions: [2] })).toBe(200)
  expect(await status('PATCH', { actions: [2, 5] })).toBe(403)
  await call(undefined, 'PATCH', 'assistant/300', { actions: [5] })
  await call(undefined, 'DELETE', 'assistant/300?force=true')
  expect(await status('PUT', named)).toBe(403)
})

test('a dry run of an import is refused what the import would be', async () => {
  const body = {
    version: 1,
    resources: { assistant: [{ _id: 310, ...plain('assistant'), actions: [1, 99] }] },
  }
  const { status, json } = await call('LOW_ACTIONS', 'POST', 'import?dryRun=true', body)
  expect([status, json.code, json.errors[0].path]).toEqual([
    403,
    'reference_forbidden',
    '/resources/assistant/0/actions/1',
  ])
})

test('a config that says that it is of another kind of owner is one that its writer has to be allowed to write', async () => {
  await call(undefined, 'PUT', 'configs/320', { ...bodies.configs, owner: ADMITTED, ownerType: 'team' })
  const { status, json } = await call('READER', 'PATCH', 'configs/320', { ownerType: 'assistant' })
  expect([status, json.errors[0].path]).toEqual([403, '/owner'])
  expect((await call('READER', 'PATCH', 'configs/320', { value: {} })).status).toBe(200)
})
