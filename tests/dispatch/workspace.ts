import { z } from 'zod'

const REQUEST_MS = 15_000

const registered = z.looseObject({ accessToken: z.string(), workspace: z.looseObject({ host: z.string() }) })

/** One registered workspace, and the requests that its admin makes. */
export interface DispatchWorkspace {
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

export async function registerWorkspace(gatewayUrl: string, namespace: string): Promise<DispatchWorkspace> {
  const body = {
    name: 'Ana',
    email: `${namespace}@example.com`,
    phone: '1',
    password: crypto.randomUUID(),
    namespace,
  }
  const { accessToken, workspace } = registered.parse(
    await bodyOf(await send(new URL('/api/auth/register', gatewayUrl), { method: 'POST', body })),
  )
  const authorization = `Bearer ${accessToken}`
  const [slug] = workspace.host.split('.', 1)
  const request: DispatchWorkspace['request'] = (method, path, body, headers = {}) =>
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
