import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import { document } from '../openapi/read-document.ts'
import { fromSchema } from './values/from-schema.ts'
import { storableObject, storableString } from './values/naughty-values.ts'
import type { FuzzWorkspace } from './workspaces.ts'

/** How many documents came back as they were stored, and which did not. */
export interface RoundTrips {
  stored: number
  changed: string[]
}

interface Trip {
  name: string
  bodies: fc.Arbitrary<unknown>
  /** Stores a body; undefined when it was refused. Else everything that shows it. */
  store(workspace: FuzzWorkspace, body: object): Promise<object[] | undefined>
}

/** Fields that a service writes itself, independent of the body. */
const IGNORED = ['_id', 'key', 'createdAt', 'updatedAt', 'password', 'role']
/** Fields that configuration writes into documents of a resource itself. */
const OWN: Record<string, string[]> = {
  subscriptions: ['failing', 'full', 'disabled', 'account', 'activeSince', 'token'],
  actions: ['failing', 'missing'],
  channels: ['origins'],
  configs: ['origins', 'refused'],
  tasks: ['channel'],
}
/** Fields that it generates where they are null. */
const MADE: Record<string, string[]> = { subscriptions: ['active', 'signingSecret'] }
const schemaOf = (name: string): object => ({ $ref: `#/components/schemas/${name}` })
const label = storableString.map((text) => [...text].slice(0, 100).join(''))

const CONFIGURED = Object.keys(document.paths).flatMap((path) => {
  const name = /^\/rest\/(\w+)\/\{id\}\/history$/.exec(path)?.[1]
  const { $ref = '' } = (document.paths[`/rest/${name}`]?.post?.requestBody?.content['application/json']
    ?.schema ?? {}) as { $ref?: string }
  return name === undefined ? [] : [{ name, schema: { $ref } }]
})

const configured = ({ name, schema }: { name: string; schema: object }): Trip => ({
  name,
  bodies: fromSchema(schema),
  async store({ request, call }, body) {
    const made = await request('POST', `/rest/${name}`, body)
    if (made.status !== 200) return undefined
    const path = `/rest/${name}/${made.json._id}`
    if (document.paths[`/rest/${name}/{id}`]?.put === undefined) return [made.json, await call('GET', path)]
    const put = await call('PUT', path, made.json)
    const [read, list] = [await call('GET', path), await call('GET', `/rest/${name}?_id=${made.json._id}`)]
    return [made.json, put, read, list.data[0]]
  },
})

const identity: Trip[] = [
  {
    name: 'roles',
    bodies: fc.record({
      name: label,
      permissions: fc.constant([{ schema: "{{resource}} == 'é\\u0000'", read: '' }]),
    }),
    async store({ request }, body) {
      const made = await request('POST', '/rest/roles', body)
      if (made.status !== 200) return undefined
      return [made.json, (await request('GET', `/rest/roles/${made.json._id}`)).json]
    },
  },
  {
    name: 'teams',
    bodies: fc.record({ name: label }),
    async store({ victims, request }, body) {
      const path = `/rest/teams/${victims.teams}`
      const made = await request('PATCH', path, body)
      return made.status === 200 ? [made.json, (await request('GET', path)).json] : undefined
    },
  },
  {
    name: 'users',
    bodies: fc.record({ name: label, phone: label, context: storableObject }),
    async store({ call, request }, body) {
      const { data } = await call('GET', '/rest/users?limit=200')
      const path = `/rest/users/${data[0]._id}`
      const made = await request('PATCH', path, body)
      return made.status === 200 ? [made.json, (await request('GET', path)).json] : undefined
    },
  },
  {
    name: 'workspaces',
    bodies: fc.record({ name: label, context: storableObject }),
    async store({ victims, request }, body) {
      const path = `/rest/workspaces/${victims.workspaces}`
      const made = await request('PATCH', path, body)
      return made.status === 200 ? [made.json, (await request('GET', path)).json] : undefined
    },
  },
  {
    name: 'tokens',
    bodies: fc.record({ name: label, role: fc.constant('VIEWER') }),
    async store({ request, call }, body) {
      const made = await request('POST', '/api/auth/tokens', body)
      if (made.status !== 200) return undefined
      const { data } = await call('GET', `/api/auth/tokens?limit=1&after=${made.json._id - 1}`)
      return [made.json, data[0]]
    },
  },
]

const messages: Trip = {
  name: 'messages',
  bodies: fromSchema(schemaOf('WebhookMessage')),
  async store({ request }, body) {
    const posted = await request('POST', '/api/hooks/whatsapp', body)
    if (posted.status !== 200) return undefined
    const logged = await eventually(async () => {
      const { status, json } = await request('GET', `/rest/messages/${posted.headers.get('x-message-id')}`)
      return status === 200 ? json : undefined
    })
    return [posted.json, logged.message]
  },
}

const TRIPS: readonly Trip[] = [...CONFIGURED.map(configured), ...identity, messages]

/** Stores naughty strings in whatever stores strings, and reads them back in every way there is. */
export async function countRoundTrips(
  workspace: FuzzWorkspace,
  { count, seed }: { count: number; seed: number },
): Promise<RoundTrips> {
  const trips: RoundTrips = { stored: 0, changed: [] }
  const each = Math.ceil(count / TRIPS.length)
  for (const { name, bodies, store } of TRIPS) {
    for (const body of fc.sample(bodies, { numRuns: each, seed }) as object[]) {
      const shown = await store(workspace, body)
      if (shown === undefined) continue
      trips.stored++
      const changed = shown.flatMap((seen, at) =>
        differences(name, body, seen).map((where) => `${name} ${at}: ${where}`),
      )
      trips.changed.push(...changed)
    }
  }
  return trips
}

const isOwn = (name: string, key: string, value: unknown): boolean =>
  OWN[name]?.includes(key) === true || (value === null && MADE[name]?.includes(key) === true)

/** The fields that do not have the same bytes as what was sent. */
function differences(name: string, sent: object, seen: object): string[] {
  const shown = new Map(Object.entries(seen ?? {}))
  return Object.entries(sent)
    .filter(([key, value]) => !IGNORED.includes(key) && !isOwn(name, key, value))
    .filter(([key, value]) => JSON.stringify(shown.get(key)) !== JSON.stringify(value))
    .map(([key, value]) =>
      `${key}: ${JSON.stringify(value)} became ${JSON.stringify(shown.get(key))}`.slice(0, 400),
    )
}
