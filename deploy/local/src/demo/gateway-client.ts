import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@parley/shared/defined'
import { MESSAGE_PATHS } from '@parley/shared/message'
import { z } from 'zod'
import { SetupError } from '../setup-error.ts'
import { SIMULATED } from '../simulator/client.ts'

const REQUEST_MS = 15_000
const BUSY = new Set([429, 503])
const BUSY_FOR_MS = 60_000
const MAX_PAUSE_MS = 5_000

const registered = z.looseObject({ accessToken: z.string(), workspace: z.looseObject({ host: z.string() }) })

const apiToken = z.looseObject({ token: z.string() })

const dispatcherCount = z.object({
  accepted: z.int(),
  inFlight: z.int(),
  sent: z.int(),
  delivered: z.int(),
  read: z.int(),
  done: z.int(),
  failed: z.int(),
  dead: z.int(),
  unrouted: z.int(),
  rejected: z.int(),
  /** Accepted less all others. */
  difference: z.int(),
  /** Of the accepted ones those that the audit has not come to yet. */
  unaudited: z.int(),
})

/** The states of a workspace's messages, as the dispatcher counts them by id. */
export type DispatcherCount = z.output<typeof dispatcherCount>

export interface GatewayClient {
  /** Where the provider of a channel posts to, by the channel's external id. */
  providerUrl(extId: string): string
  putChannel(channel: object): Promise<void>
  /** Configures a document under an id, for example `put('steps', 1, …)`. */
  put(resource: string, id: number, document: object): Promise<void>
  /** Requests something that may be requested again, and again later where the gateway or a service has no room. */
  call(method: string, path: string, body?: object): Promise<unknown>
  /** Reads JSON from a path, with its query. */
  get(path: string): Promise<unknown>
  /** Posts to the webhook; a repeat with the same key is the same message. */
  postMessage(message: object, key: string): Promise<Response>
  /** The dispatcher's own reconciliation of accepted messages with their states. */
  reconciliation(): Promise<DispatcherCount>
}

/** The person that a workspace is registered for. */
interface Registration {
  name: string
  email: string
  password: string
  namespace: string
}

/** Registers a workspace of the demo's own and returns the means to use it, with a token that does not expire. */
export async function registerWorkspace(gatewayUrl: string, run: string): Promise<GatewayClient> {
  const password = crypto.randomUUID()
  const email = `demo.${run}@example.com`
  const person = { name: 'Demo', email, password, namespace: `demo-${run}` }
  const { client, host } = await register(gatewayUrl, person)
  const made = await client.call('POST', '/api/auth/tokens', { name: 'Demo', role: 'WORKSPACE_ADMIN' })
  return gatewayClient(gatewayUrl, { token: apiToken.parse(made).token, host })
}

/** Registers a workspace for somebody and returns the means to use it for a quarter of an hour. */
export const registerAs = async (gatewayUrl: string, registration: Registration): Promise<GatewayClient> =>
  (await register(gatewayUrl, registration)).client

async function register(gatewayUrl: string, registration: Registration) {
  const response = await request(new URL('/api/auth/register', gatewayUrl), {
    method: 'POST',
    body: { phone: '+5511999990000', ...registration },
  })
  const { accessToken, workspace } = registered.parse(await bodyOf(response, 'registering a workspace'))
  const { host } = workspace
  return { client: gatewayClient(gatewayUrl, { token: accessToken, host }), host }
}

/** The means to use a workspace that is there. */
export function gatewayClient(
  gatewayUrl: string,
  { token, host }: { token: string; host: string },
): GatewayClient {
  const headers = { authorization: `Bearer ${token}` }
  const [slug] = host.split('.', 1)
  const put: GatewayClient['put'] = async (resource, id, document) => {
    const url = new URL(`/rest/${resource}/${id}`, gatewayUrl)
    const doing = `configuring ${resource} ${id}`
    await bodyOf(await request(url, { method: 'PUT', body: document, headers }), doing)
  }
  const get: GatewayClient['get'] = async (path) =>
    bodyOf(await request(new URL(path, gatewayUrl), { headers }), `reading ${path}`)
  const call: GatewayClient['call'] = async (method, path, body) => {
    const deadline = performance.now() + BUSY_FOR_MS
    for (;;) {
      const response = await request(new URL(path, gatewayUrl), { method, headers, ...defined({ body }) })
      if (!BUSY.has(response.status) || performance.now() > deadline)
        return bodyOf(response, `${method} ${path}`)
      await response.arrayBuffer()
      const seconds = Number(response.headers.get('retry-after') ?? 0) || 1
      await pause(Math.min(seconds * 1_000, MAX_PAUSE_MS))
    }
  }
  return {
    put,
    get,
    call,
    providerUrl: (extId) => new URL(`/api/hooks/${SIMULATED.name}/${slug}/${extId}`, gatewayUrl).href,
    putChannel: (channel) => put('channels', 1, channel),
    postMessage: (message, key) =>
      request(new URL(MESSAGE_PATHS[0], gatewayUrl), {
        method: 'POST',
        body: message,
        headers: { ...headers, 'idempotency-key': key },
      }),
    reconciliation: async () => dispatcherCount.parse(await get('/rest/messages/conservation')),
  }
}

function request(
  url: URL,
  {
    method = 'GET',
    body,
    headers = {},
  }: { method?: string; body?: object; headers?: Record<string, string> },
): Promise<Response> {
  return fetch(url, {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
}

async function bodyOf(response: Response, doing: string): Promise<unknown> {
  const text = await response.text()
  if (response.ok) return JSON.parse(text)
  throw new SetupError(`The gateway responded with ${response.status} on ${doing}: ${text.slice(0, 300)}`)
}
