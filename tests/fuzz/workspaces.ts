import { randomUUID } from 'node:crypto'
import { responseText } from '@parley/local/testing/response-text'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { parseJson } from '@parley/shared/parse-json'
import { bodies } from '../../services/configuration/test/bodies.ts'

const REQUEST_MS = 30_000
const PASSWORD = 'correct horse battery staple'

interface Reply {
  status: number
  headers: Headers
  text: string
  json: Parsed
}

/** A registered workspace with something of everything in it, all of it marked. */
export interface FuzzWorkspace {
  /** In whatever holds text there, and in nothing else. */
  mark: string
  token: string
  email: string
  role: number
  slug: string
  /** By collection (`channels`, `users`, …), the id of something that may be changed and deleted. */
  victims: Record<string, string>
  request(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Reply>
  /** As `request`, for what must succeed: returns the body. */
  call(method: string, path: string, body?: unknown): Promise<Parsed>
}

export async function ask(
  url: string,
  options: {
    method: string
    path: string
    token?: string | undefined
    body?: unknown
    signal?: AbortSignal | undefined
  },
): Promise<Reply> {
  const { method, path, token, body, signal = AbortSignal.timeout(REQUEST_MS) } = options
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  })
  const text = await responseText(response)
  const json = response.headers.get('content-type')?.includes('json')
    ? (parseJson(text) as Parsed)
    : undefined
  return { status: response.status, headers: response.headers, text, json }
}

async function succeed(url: string, options: Parameters<typeof ask>[1]): Promise<Parsed> {
  const { status, json, text } = await ask(url, options)
  if (status !== 200) throw new Error(`${options.method} ${options.path} answered ${status}: ${text}`)
  return json
}

/** Registers a workspace and puts something of everything into it. */
export async function prepareWorkspace(url: string): Promise<FuzzWorkspace> {
  const mark = `mark-${randomUUID()}`
  const email = `${randomUUID()}@example.com`
  const body = { name: 'Ana', email, phone: '1', password: PASSWORD, namespace: 'fuzz' }
  const registered = await succeed(url, { method: 'POST', path: '/api/auth/register', body })
  const token: string = registered.accessToken
  const workspace: FuzzWorkspace = {
    mark,
    token,
    email,
    role: registered.role,
    victims: {},
    slug: registered.workspace.host.split('.', 1)[0],
    request: (method, path, body, signal) => ask(url, { method, path, token, body, signal }),
    call: (method, path, body) => succeed(url, { method, path, token, body }),
  }
  await plant(workspace, registered.workspace._id)
  return workspace
}

async function plant(workspace: FuzzWorkspace, id: number): Promise<void> {
  const { mark, victims, call } = workspace
  await call('PATCH', `/rest/workspaces/${id}`, { context: { mark } })
  victims.workspaces = String(id)
  for (const [name, example] of Object.entries(bodies)) {
    const text = 'description' in example ? 'description' : 'name'
    await call('PUT', `/rest/${name}/1`, { ...example, [text]: mark })
    victims[name] = '1'
  }
  const make = async (name: string, path: string, body: object) => {
    victims[name] = String((await call('POST', path, body))._id)
  }
  const role = 'VIEWER'
  await make('roles', '/rest/roles', { name: mark, permissions: [] })
  await make('teams', '/rest/teams', { name: mark })
  await make('users', '/rest/users', { name: mark, email: `${mark}@example.com`, password: PASSWORD, role })
  await make('tokens', '/api/auth/tokens', { name: mark, role })
  await make('invitations', '/rest/invitations', { email: `invited.${mark}@example.com`, role })
  victims.messages = await postMarked(workspace)
}

/** Returns the id of a message that the log shows. */
async function postMarked({ mark, request }: FuzzWorkspace): Promise<string> {
  const message = { extId: mark, user: { phone: '5511988887777' }, thread: { extId: mark }, answer: {} }
  const { headers, text } = await request('POST', '/api/hooks/whatsapp', message)
  const id = headers.get('x-message-id')
  if (id === null) throw new Error(`the message was not taken: ${text}`)
  return eventually(async () => {
    const { status } = await request('GET', `/rest/messages/${id}`)
    return status === 200 ? id : undefined
  })
}

/** Makes a user with a role and returns the name to log in with. */
export async function addUser({ call }: FuzzWorkspace, role: string): Promise<string> {
  const email = `${randomUUID()}@example.com`
  await call('POST', '/rest/users', { name: role, email, password: PASSWORD, role })
  return email
}

export async function login(url: string, username: string): Promise<string> {
  const body = { username, password: PASSWORD }
  return (await succeed(url, { method: 'POST', path: '/api/auth/login', body })).accessToken
}

// Messages go on by themselves.
const MOVING = ['messages']

/** All that was planted, as its admin sees it. */
export async function seenOf({ victims, request }: FuzzWorkspace): Promise<string> {
  const seen = Object.entries(victims)
    .filter(([name]) => !MOVING.includes(name))
    .map(async ([name, id]) => {
      const list = name === 'tokens' ? '/api/auth/tokens' : `/rest/${name}`
      const path = name === 'tokens' || name === 'invitations' ? list : `${list}/${id}`
      return (await request('GET', path)).text
    })
  return (await Promise.all(seen)).join('\n')
}
