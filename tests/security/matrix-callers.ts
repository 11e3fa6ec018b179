import { randomUUID } from 'node:crypto'
import { responseText } from '@parley/local/testing/response-text'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'

interface MatrixResponse {
  status: number
  text: string
  json: Parsed
}

type MatrixCall = (
  method: string,
  path: string,
  options?: { token?: string | undefined; body?: unknown },
) => Promise<MatrixResponse>

/** A user of the workspace under test, the admin of another one, or nobody. */
export interface MatrixCaller {
  name: string
  /** The role in the workspace under test; undefined for who is not in it. */
  role?: string
  token?: string
  /** A session of its own, for what ends one. */
  login?(): Promise<string>
}

export interface MatrixWorld {
  call: MatrixCall
  workspace: number
  /** The token of the admin who makes what the callers try to reach. */
  admin: string
  callers: MatrixCaller[]
  /** Ids of messages that may be run again; each can be taken once. */
  messages: string[]
}

export const PASSWORD = 'correct horse battery staple'

export const newEmail = (): string => `${randomUUID()}@example.com`
export const registration = () => ({
  name: 'Ana',
  email: newEmail(),
  phone: '1',
  password: PASSWORD,
  namespace: 'acme',
})
export const messageOf = (thread: string) => ({
  extId: 'no channel has this',
  user: { name: 'Ana', phone: '5511988887777' },
  thread: { extId: thread },
  answer: { message: 'hello' },
  audio: 'data:audio/ogg;base64,T2dnUw==',
})

const MAX_TRIES = 5

/** On a busy machine a service may find another one too slow for a moment, and says so. */
export async function onceAvailable<R extends { status: number }>(call: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    const response = await call()
    if (response.status !== 503 || tries === MAX_TRIES) return response
  }
}

function callsTo(url: string): MatrixCall {
  return async (method, path, { token, body } = {}) => {
    const isText = typeof body === 'string'
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': isText ? 'text/csv' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    })
    const text = await responseText(response)
    const json =
      response.headers.get('content-type')?.includes('json') && text !== '' ? JSON.parse(text) : undefined
    return { status: response.status, text, json }
  }
}

/** Two workspaces: one with an admin, a member, a viewer and a provider, and one with an admin only. */
export async function prepareCallers(url: string): Promise<MatrixWorld> {
  const call = callsTo(url)
  const [own, other] = [registration(), registration()]
  const admin = await call('POST', '/api/auth/register', { body: own })
  const stranger = await call('POST', '/api/auth/register', { body: other })
  const token = String(admin.json.accessToken)
  // Not even this crosses the border of a workspace.
  const everything = { permissions: [{ schema: 'true', read: 'true', write: 'true' }] }
  const stronger = { token: stranger.json.accessToken, body: everything }
  const { status } = await call('PATCH', `/rest/roles/${stranger.json.role}`, stronger)
  if (status !== 200) throw new Error(`the role was not changed: ${status}`)
  const login = async (email: string) => {
    const answer = await call('POST', '/api/auth/login', { body: { username: email, password: PASSWORD } })
    return String(answer.json.accessToken)
  }
  const callers: MatrixCaller[] = [
    { name: 'WORKSPACE_ADMIN', role: 'WORKSPACE_ADMIN', token, login: () => login(own.email) },
  ]
  for (const role of ['MEMBER', 'VIEWER', 'PROVIDER']) {
    const email = newEmail()
    await call('POST', '/rest/users', { token, body: { name: role, email, password: PASSWORD, role } })
    callers.push({ name: role, role, token: await login(email), login: () => login(email) })
  }
  callers.push(
    {
      name: 'an admin of another workspace',
      token: stranger.json.accessToken,
      login: () => login(other.email),
    },
    { name: 'nobody' },
  )
  // Unlike a session it does not end with a new password.
  const making = await call('POST', '/api/auth/tokens', {
    token,
    body: { name: 'makes what the others try to reach', role: 'WORKSPACE_ADMIN' },
  })
  const messages = await postMessages(call, token, 24)
  return { call, workspace: admin.json.workspace._id, admin: making.json.token, callers, messages }
}

/** Messages for a channel that is not there: after a while they are put aside, and may be run again. */
async function postMessages(call: MatrixCall, token: string, count: number): Promise<string[]> {
  for (let n = 0; n < count; n++)
    await call('POST', '/api/hooks/whatsapp', { token, body: messageOf(`acme-only ${n}`) })
  return eventually(async () => {
    const { json } = await call('GET', '/rest/messages?status=unrouted', { token })
    const ids: string[] = json.data.map(({ _id }: { _id: string }) => _id)
    return ids.length === count ? ids : undefined
  })
}
