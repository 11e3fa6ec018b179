import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const REQUEST_MS = 15_000
const PAGE = 200

const registered = z.looseObject({ accessToken: z.string(), workspace: z.looseObject({ host: z.string() }) })
const page = z.looseObject({
  data: z.array(z.looseObject({ _id: z.string(), state: z.string() })),
  next: z.string().nullable(),
})

export interface GatewayClient {
  /** Where the provider of a channel posts to, by the channel's external id. */
  providerUrl(extId: string): string
  putChannel(channel: object): Promise<void>
  /** Posts to the webhook; a repeat with the same key is the same message. */
  postMessage(message: object, key: string): Promise<Response>
  /** How many messages of the workspace are in each state; reads at most `atMost` of them. */
  countStates(atMost: number): Promise<Map<string, number>>
}

/** Registers a workspace of its own and returns the means to use it. */
export async function registerWorkspace(gatewayUrl: string, run: string): Promise<GatewayClient> {
  const answer = await request(new URL('/api/auth/register', gatewayUrl), {
    method: 'POST',
    body: {
      name: 'Demo',
      email: `demo.${run}@example.com`,
      phone: '+5511999990000',
      password: crypto.randomUUID(),
      namespace: `demo-${run}`,
    },
  })
  const { accessToken, workspace } = registered.parse(await bodyOf(answer, 'registering a workspace'))
  const headers = { authorization: `Bearer ${accessToken}` }
  const [slug] = workspace.host.split('.', 1)
  return {
    providerUrl: (extId) => new URL(`/api/hooks/whatsapp/${slug}/${extId}`, gatewayUrl).href,
    async putChannel(channel) {
      const url = new URL('/rest/channels/1', gatewayUrl)
      await bodyOf(await request(url, { method: 'PUT', body: channel, headers }), 'configuring the channel')
    },
    postMessage: (message, key) =>
      request(new URL('/api/hooks/whatsapp', gatewayUrl), {
        method: 'POST',
        body: message,
        headers: { ...headers, 'idempotency-key': key },
      }),
    async countStates(atMost) {
      const states = new Map<string, number>()
      let after: string | null = ''
      for (let read = 0; after !== null && read < atMost; read += PAGE) {
        const url = new URL(`/rest/messages?limit=${PAGE}`, gatewayUrl)
        if (after !== '') url.searchParams.set('after', after)
        const { data, next } = page.parse(
          await bodyOf(await request(url, { headers }), 'reading the message log'),
        )
        for (const { state } of data) states.set(state, (states.get(state) ?? 0) + 1)
        after = next
      }
      return states
    },
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

async function bodyOf(answer: Response, doing: string): Promise<unknown> {
  const text = await answer.text()
  if (answer.ok) return JSON.parse(text)
  throw new SetupError(`The gateway answered ${answer.status} on ${doing}: ${text.slice(0, 300)}`)
}
