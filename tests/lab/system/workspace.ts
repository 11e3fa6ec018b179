import { SetupError } from '@parley/local/setup-error'
import { z } from 'zod'

const REQUEST_MS = 15_000

const session = z.looseObject({ accessToken: z.string(), refreshToken: z.string() })
export type Session = z.output<typeof session>
const registered = z.looseObject({ accessToken: z.string(), workspace: z.looseObject({ host: z.string() }) })
const apiToken = z.looseObject({ _id: z.number(), token: z.string() })

/** One registered workspace, and the requests that its admin makes. */
export interface Workspace {
  /** The admin's access token. */
  token: string
  /** Calls the gateway; the answer's body must be read. */
  request(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Response>
  /** As `request`, for what must succeed: returns the body. */
  call(method: string, path: string, body?: object): Promise<unknown>
  /** Posts to the webhook; a repeat with the same key is the same message. */
  postMessage(message: object, key: string): Promise<Response>
  /** Where the provider of a channel posts to. */
  providerUrl(extId: string): string
}

export async function registerWorkspace(gatewayUrl: string, namespace: string): Promise<Workspace> {
  const person = { email: `${namespace}@example.com`, password: crypto.randomUUID(), namespace }
  const { accessToken, workspace } = registered.parse(await register(gatewayUrl, person))
  const authorization = `Bearer ${accessToken}`
  const [slug] = workspace.host.split('.', 1)
  const request: Workspace['request'] = (method, path, body, headers = {}) =>
    send(new URL(path, gatewayUrl), { method, body, headers: { authorization, ...headers } })
  return {
    token: accessToken,
    request,
    call: async (method, path, body) => bodyOf(await request(method, path, body)),
    postMessage: (message, key) =>
      request('POST', '/api/hooks/whatsapp', message, { 'idempotency-key': key }),
    providerUrl: (extId) => new URL(`/api/hooks/whatsapp/${slug}/${extId}`, gatewayUrl).href,
  }
}

/** Registers a workspace; what the gateway answers. */
export async function register(
  gatewayUrl: string,
  person: { email: string; password: string; namespace: string },
): Promise<unknown> {
  const body = { name: 'Ana', phone: '1', ...person }
  return bodyOf(await send(new URL('/api/auth/register', gatewayUrl), { method: 'POST', body }))
}

/** Makes an API token by another token. */
export async function makeApiToken(
  { call }: Pick<Workspace, 'call'>,
  token: { name: string; role: string },
): Promise<z.output<typeof apiToken>> {
  return apiToken.parse(await call('POST', '/api/auth/tokens', token))
}

/** Requests of people and programs to a gateway: sessions that begin, go on and end. */
export interface GatewaySessions {
  /** The status of the answer; the body is read and dropped. Rejects when there is none within 15 s. */
  status(method: string, path: string, options?: { token?: string; body?: object }): Promise<number>
  /** Registers a workspace with a new user. */
  register(email: string): Promise<void>
  login(email: string): Promise<Session>
  refresh(refreshToken: string): Promise<Session>
  makeApiToken(token: string): ReturnType<typeof makeApiToken>
}

export function gatewaySessions(gatewayUrl: string): GatewaySessions {
  const password = crypto.randomUUID()
  const request = (method: string, path: string, { token, body }: { token?: string; body?: object }) =>
    send(new URL(path, gatewayUrl), {
      ...{ method, body },
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    })
  const post = async (path: string, options: { token?: string; body: object }): Promise<unknown> => {
    const answer = await request('POST', path, options)
    if (!answer.ok) throw new SetupError(`POST ${path} answered ${answer.status}.`)
    return answer.json()
  }
  return {
    async status(method, path, options = {}) {
      const answer = await request(method, path, options)
      await answer.arrayBuffer()
      return answer.status
    },
    register: async (email) => void (await register(gatewayUrl, { email, password, namespace: 'live' })),
    login: async (username) => session.parse(await post('/api/auth/login', { body: { username, password } })),
    refresh: async (refreshToken) =>
      session.parse(await post('/api/auth/refresh', { body: { refreshToken } })),
    makeApiToken: (token) =>
      makeApiToken(
        { call: (_method, path, body = {}) => post(path, { token, body }) },
        { name: 'live', role: 'VIEWER' },
      ),
  }
}

function send(
  url: URL,
  options: { method: string; body?: object | undefined; headers?: Record<string, string> },
): Promise<Response> {
  const { method, body, headers = {} } = options
  return fetch(url, {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
}

async function bodyOf(answer: Response): Promise<unknown> {
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${text.slice(0, 300)}`)
  return JSON.parse(text)
}
