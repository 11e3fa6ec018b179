import { randomUUID } from 'node:crypto'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { RESOURCE_ALIASES } from '@parley/shared/configuration-resources'
import type { PermissionOperation } from '../../docs/permission-operations.ts'
import { bodies } from '../../services/configuration/test/bodies.ts'
import { draftOf, makeCampaign, makeTemplate, putAccountChannel } from '../openapi/made-campaigns.ts'
import {
  type MatrixWorld,
  messageOf,
  newEmail,
  onceAvailable,
  PASSWORD,
  registration,
} from './matrix-callers.ts'

type Named = Pick<PermissionOperation, 'method' | 'path'>

let lastId = 1_000
const configured = (path: string) => {
  const name = path.split('/')[2] ?? ''
  const body = bodies[(RESOURCE_ALIASES[name] ?? name) as keyof typeof bodies]
  // An address that is refused at once, and that no name server is asked for.
  return body !== undefined && 'url' in body ? { ...body, url: 'https://192.0.2.1/parley' } : body
}

/** In every document that is made to be reached, and so in no answer to who may not see it. */
export const MARK = 'acme-only'
const LIST_ONLY = ['/rest/invitations', '/api/auth/tokens']

/** Makes a new document of the workspace under test and answers with its id. */
async function target(world: MatrixWorld, path: string): Promise<string> {
  const { call, admin: token, workspace, messages } = world
  const collection = path.slice(0, path.indexOf('/{id}'))
  const made = async (method: string, at: string, body: unknown) => {
    const { status, text, json } = await onceAvailable(() => call(method, at, { token, body }))
    if (status !== 200) throw new Error(`${method} ${at} answered ${text}`)
    return String(json._id)
  }
  const name = `${MARK} ${randomUUID()}`
  const body = configured(path)
  if (body !== undefined) {
    const marked = 'description' in body ? { ...body, description: name } : { ...body, name }
    return made('PUT', `${collection}/${++lastId}`, marked)
  }
  switch (collection) {
    case '/rest/workspaces':
      return String(workspace)
    case '/rest/messages':
      return (path.endsWith('/replay') ? messages.pop() : messages[0]) ?? ''
    case '/rest/threads':
      if (!path.endsWith('/files')) return newThread(world)
      await putAccountChannel(asAdmin(world))
      // To nobody, so that nothing is sent later, which would change the thread.
      return newThread(world, { extId: 'with-account', user: {} })
    case '/rest/roles':
      return made('POST', collection, { ...newRole(), name })
    case '/rest/teams':
      return made('POST', collection, { name })
    case '/rest/users':
      return made('POST', collection, { name, email: newEmail(), password: PASSWORD, role: 'VIEWER' })
    case '/api/auth/tokens':
      return made('POST', collection, { name, role: 'VIEWER', currentPassword: PASSWORD })
    case '/rest/people':
      return made('POST', collection, { addresses: [`whatsapp:DE.${randomUUID()}`], name })
    case '/rest/people/imports':
      return made('POST', `${collection}?tag=${MARK}`, new Blob(['phone\n'], { type: 'text/csv' }))
    case '/rest/segments':
      return made('PUT', `${collection}/s-${randomUUID()}`, { name, filter: {} })
    case '/rest/templates':
      return makeTemplate(asAdmin(world))
    case '/rest/campaigns':
      return makeCampaign(asAdmin(world), 'draft', name)
    case '/rest/invitations':
      return made('POST', collection, { email: `${MARK}.${newEmail()}`, role: 'VIEWER' })
    default:
      throw new Error(`nobody says how to make what ${path} is about`)
  }
}

const asAdmin =
  ({ call, admin: token }: MatrixWorld) =>
  async (method: string, path: string, body?: unknown): Promise<Parsed> =>
    (await onceAvailable(() => call(method, path, { token, body }))).json

/** Each is a thread of its own, which a message begins. */
async function newThread(
  { call, admin: token }: MatrixWorld,
  channel: { extId?: string; user?: object } = {},
): Promise<string> {
  const extId = `thread-${randomUUID()}`
  const body = { ...messageOf(extId), ...channel, answer: { message: MARK } }
  await call('POST', '/rest/messages', { token, body })
  await eventually(async () => {
    const { status } = await call('GET', `/rest/threads/${extId}`, { token })
    return status === 200
  })
  return extId
}

/** Returns the document at a concrete path of an operation, as the admin sees it. */
export async function seenByAdmin(world: MatrixWorld, operation: Named, path: string): Promise<unknown> {
  const { call, admin: token } = world
  const collection = operation.path.slice(0, operation.path.indexOf('/{id}'))
  const id = path.slice(collection.length + 1).split('/')[0]
  if (!LIST_ONLY.includes(collection)) return (await call('GET', `${collection}/${id}`, { token })).json
  const { json } = await call('GET', `${collection}?limit=200`, { token })
  return json.data.find(({ _id }: { _id: number }) => String(_id) === id)
}

/** A path at which something is, of the workspace under test. */
export async function concretePath(world: MatrixWorld, { path }: Named): Promise<string> {
  if (path.includes('{slug}')) return path.replace('{slug}', 'acme').replace('{channelExtId}', 'line')
  if (!path.includes('{id}')) return path
  const at = path.replace('{id}', await target(world, path))
  if (at.includes('{note}')) return at.replace('{note}', await newNote(world, at))
  return at.includes('{delivery}') ? at.replace('{delivery}', await testDelivery(world, at)) : at
}

/** Has something noted in the thread of a path, and answers with the id of the note. */
async function newNote({ call, admin: token }: MatrixWorld, path: string): Promise<string> {
  const { json } = await call('POST', path.replace('/{note}', ''), { token, body: { text: 'of the team' } })
  return String(json._id)
}

/** Has a test event posted to the subscription of a path, and answers with its id. */
async function testDelivery({ call, admin: token }: MatrixWorld, path: string): Promise<string> {
  const { json } = await call('POST', path.replace(/\/deliveries\/.*/, '/test'), { token })
  return String(json._id)
}

/** A body that the operation takes from whoever may; undefined where there is none. */
export async function bodyFor(world: MatrixWorld, { method, path }: Named): Promise<unknown> {
  if (method === 'GET' || method === 'DELETE') return undefined
  const body = plainBodies[`${method} ${path.replace('/rest/assistants/', '/rest/assistant/')}`]
  if (body === undefined && configured(path) !== undefined) return configured(path)
  if (body === undefined) throw new Error(`nobody says what to send to ${method} ${path}`)
  return body(world)
}

const TEMPLATE = {
  ...{ language: 'en_US', category: 'UTILITY' },
  components: [{ type: 'BODY', text: 'Your order is on its way.' }],
}

const newRole = () => ({ name: randomUUID(), permissions: [] })
const login = async ({ call }: MatrixWorld) => {
  const user = registration()
  await call('POST', '/api/auth/register', { body: user })
  return { username: user.email, password: user.password }
}

const plainBodies: Record<string, (world: MatrixWorld) => unknown> = {
  'POST /api/auth/register': registration,
  'POST /api/auth/login': login,
  'POST /api/auth/refresh': async (world) => {
    const { json } = await world.call('POST', '/api/auth/login', { body: await login(world) })
    return { refreshToken: json.refreshToken }
  },
  'POST /api/auth/accept-invitation': async ({ call, admin: token }) => {
    const body = { email: newEmail(), role: 'VIEWER' }
    const { json } = await call('POST', '/rest/invitations', { token, body })
    return { token: json.token, name: 'Bo', password: PASSWORD }
  },
  'POST /api/auth/forgot-password': () => ({ email: newEmail() }),
  'POST /api/auth/reset-password': async ({ call, admin: token }) => {
    const body = { name: 'Bo', email: newEmail(), password: PASSWORD, role: 'VIEWER' }
    const { json: user } = await call('POST', '/rest/users', { token, body })
    const { json } = await call('POST', `/rest/users/${user._id}/password-link`, { token })
    return { token: json.token, password: PASSWORD }
  },
  'POST /rest/users/{id}/password-link': () => undefined,
  'POST /api/auth/me': () => ({}),
  'POST /api/auth/sessions/end': () => ({}),
  'PATCH /api/auth/me': () => ({ phone: '+351 1' }),
  'POST /api/auth/password': () => ({
    currentPassword: PASSWORD,
    newPassword: PASSWORD,
    keepApiTokens: true,
  }),
  'POST /api/auth/logout': () => ({}),
  'POST /rest/users': () => ({ name: 'Bo', email: newEmail(), password: PASSWORD, role: 'VIEWER' }),
  'PATCH /rest/users/{id}': () => ({ name: 'Cy' }),
  'POST /rest/invitations': () => ({ email: newEmail(), role: 'VIEWER' }),
  'POST /rest/roles': newRole,
  'PUT /rest/roles/{id}': newRole,
  'PATCH /rest/roles/{id}': () => ({ name: randomUUID() }),
  'POST /rest/teams': () => ({ name: randomUUID() }),
  'PATCH /rest/teams/{id}': () => ({ name: randomUUID() }),
  'POST /rest/roles/{id}/explain': () => ({ resource: 'channels' }),
  'POST /api/auth/tokens': () => ({ name: 'a provider', role: 'VIEWER' }),
  'PATCH /rest/workspaces/{id}': () => ({ context: {} }),
  'POST /rest/import': () => ({
    version: 1,
    resources: { channels: [{ _id: ++lastId, ...bodies.channels }] },
  }),
  'POST /api/hooks/whatsapp': () => messageOf('matrix'),
  'POST /rest/messages': () => messageOf('matrix'),
  'POST /api/hooks/whatsapp/{slug}/{channelExtId}': () => ({}),
  'POST /rest/messages/replay': () => ({ thread: 'nobody writes here' }),
  'POST /rest/messages/{id}/replay': () => ({}),
  'PATCH /rest/threads/{id}': () => ({ unread: 0 }),
  'POST /rest/threads/{id}/messages': () => ({ text: 'hello' }),
  'POST /rest/threads/{id}/notes': () => ({ text: 'of the team' }),
  'POST /rest/threads/{id}/files': () => new Blob(['9 to 5'], { type: 'text/plain' }),
  'POST /rest/threads/{id}/typing': () => undefined,
  'POST /rest/threads/{id}/presence': () => undefined,
  'POST /rest/subscriptions/{id}/replay': () => ({ since: new Date(0).toISOString() }),
  'PUT /rest/people/attributes': () => ({ attributes: [] }),
  'POST /rest/people/imports': () => new Blob(['phone\n'], { type: 'text/csv' }),
  'POST /rest/people': () => ({ addresses: [`whatsapp:DE.${randomUUID()}`] }),
  'PUT /rest/people/{id}': () => ({ addresses: [`whatsapp:DE.${randomUUID()}`] }),
  'PATCH /rest/people/{id}': () => ({ name: 'Cy' }),
  'PUT /rest/segments/{id}': () => ({ name: 'everybody', filter: {} }),
  'POST /rest/segments/count': () => ({ filter: {} }),
  'POST /rest/templates': async (world) => ({
    ...draftOf(await putAccountChannel(asAdmin(world))),
    ...TEMPLATE,
  }),
  'PUT /rest/templates/{id}': () => ({ components: TEMPLATE.components }),
  'POST /rest/templates/{id}/preview': () => ({}),
  'POST /rest/templates/sync': () => undefined,
  'POST /rest/campaigns': () => ({
    ...{ name: 'everybody', channel: 7_001, template: { name: 'unknown', language: 'en' } },
    audience: { everybody: true },
  }),
  'PATCH /rest/campaigns/{id}': () => ({ name: 'everybody' }),
  ...Object.fromEntries(
    ['schedule', 'unschedule', 'pause', 'resume', 'cancel', 'estimate', 'preview'].map((action) => [
      `POST /rest/campaigns/{id}/${action}`,
      () => undefined,
    ]),
  ),
  'POST /rest/campaigns/{id}/test': () => ({ address: 'phone:5511988887777' }),
  'POST /rest/actions/{id}/connect': () => ({ redirectUri: 'https://parley.example/console/connected' }),
  'POST /rest/actions/{id}/connected': () => ({ state: '1.unknown', code: 'unknown' }),
  'POST /rest/actions/{id}/test': () => undefined,
  'POST /rest/channels/{id}/test': () => ({}),
  'POST /rest/actions/discover': () => ({ url: 'http://127.0.0.1:9/openapi.json' }),
  'POST /rest/assistant/{id}/prompt': () => ({}),
  'POST /rest/assistant/{id}/try': () => ({
    messages: [{ role: 'person', text: 'Hello' }],
    tools: 'describe',
  }),
}
