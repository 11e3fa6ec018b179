import { SetupError } from '@parley/local/setup-error'
import { z } from 'zod'

const REQUEST_MS = 15_000

const session = z.looseObject({ accessToken: z.string(), refreshToken: z.string() })
export type GatewaySession = z.output<typeof session>

const apiToken = z.looseObject({ _id: z.number(), token: z.string() })
type GatewayApiToken = z.output<typeof apiToken>

interface CallOptions {
  token?: string
  body?: object
}

/** What the checks ask of a running gateway. */
export interface GatewayCalls {
  /** The status of the answer; the body is read and dropped. Rejects when there is none within 15 s. */
  status(method: string, path: string, options?: CallOptions): Promise<number>
  /** Registers a workspace with a new user. */
  register(email: string): Promise<void>
  login(email: string): Promise<GatewaySession>
  refresh(refreshToken: string): Promise<GatewaySession>
  makeApiToken(token: string): Promise<GatewayApiToken>
}

const PASSWORD = crypto.randomUUID()

export function gatewayCalls(gatewayUrl: string): GatewayCalls {
  const call = (method: string, path: string, { token, body }: CallOptions = {}) =>
    fetch(new URL(path, gatewayUrl), {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
  const post = async (path: string, options: CallOptions): Promise<unknown> => {
    const answer = await call('POST', path, options)
    if (!answer.ok) throw new SetupError(`POST ${path} answered ${answer.status}.`)
    return answer.json()
  }
  return {
    async status(method, path, options) {
      const answer = await call(method, path, options)
      await answer.arrayBuffer()
      return answer.status
    },
    async register(email) {
      const user = { name: 'Ana', email, phone: '+5511999990000', password: PASSWORD, namespace: 'live' }
      await post('/api/auth/register', { body: user })
    },
    login: async (username) =>
      session.parse(await post('/api/auth/login', { body: { username, password: PASSWORD } })),
    refresh: async (refreshToken) =>
      session.parse(await post('/api/auth/refresh', { body: { refreshToken } })),
    makeApiToken: async (token) =>
      apiToken.parse(await post('/api/auth/tokens', { token, body: { name: 'live', role: 'VIEWER' } })),
  }
}
