import { createParley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { isReady } from '@parley/local/demo/running-system'
import type { System } from '@parley/local/system/start-system'
import { eventually } from '@parley/local/testing/service-under-test'
import { sharedServers } from '@parley/local/testing/test-servers'
import { startOwnSystem } from '../lab/system/own-system.ts'

interface HttpResponse {
  status: number
  headers: Headers
  text: string
  json: Record<string, unknown>
}

interface ReceivedSend {
  to: string
  type: string
  template?: string
  language?: string
  variables?: string[]
  text?: string
}

/** The processes as `npm start` runs them, with one registered workspace. */
export interface RunningParley {
  system: System
  call(
    method: string,
    path: string,
    options?: { body?: unknown; token?: string | null },
  ): Promise<HttpResponse>
  /** A further workspace's admin token. */
  register(namespace: string): Promise<string>
  putWhatsappChannel(id: number, options: { extId: string; phoneNumberId: string }): Promise<void>
  /** Returns the sends that the simulator has got for a phone number. */
  sends(phoneNumberId: string): Promise<ReceivedSend[]>
  /** Waits until the gateway and all behind it are ready. */
  ready(): Promise<void>
  /** Says which process is which at the moment. */
  runFile: string
  stop(): Promise<void>
}

/** `servers`: those that all tests share unless a test kills them. */
export async function startProcesses({
  servers = 'shared',
}: {
  servers?: 'shared' | 'own'
} = {}): Promise<RunningParley> {
  const own = await startOwnSystem({
    instances: {},
    ...(servers === 'own' ? {} : { servers: await sharedServers() }),
    say: () => undefined,
  })
  const { system, runFile } = own
  const send = (method: string, path: string, body: unknown, token: string | null): Promise<HttpResponse> =>
    fetch(system.gatewayUrl + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    }).then(async (response) => {
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
    })
  const register = async (namespace: string) => {
    const body = {
      name: 'Ana',
      email: `${namespace}@example.com`,
      phone: '1',
      password: 'a long password',
      namespace,
    }
    const { accessToken } = await succeeded(
      createParley({ url: system.gatewayUrl }).api.POST('/api/auth/register', { body }),
    )
    return accessToken
  }
  const token = await register('acme')
  const parley: RunningParley = {
    system,
    runFile,
    register,
    call: (method, path, options = {}) =>
      send(method, path, options.body, options.token === undefined ? token : options.token),
    async putWhatsappChannel(id, { extId, phoneNumberId }) {
      const config = { phoneNumberId, accessToken: 'secret', apiUrl: `${system.simulatorUrl}/v23.0` }
      const body = {
        ...({ name: extId, description: '', extId, hook: 'whatsapp', callback: 'whatsapp' } as const),
        handlerUrl: 'native:agents/echo',
        config,
      }
      const params = { path: { id } }
      await succeeded(
        createParley({ url: system.gatewayUrl, token }).api.PUT('/rest/channels/{id}', { params, body }),
      )
    },
    async sends(phoneNumberId) {
      const response = await fetch(`${system.simulatorUrl}/simulator/sends?phoneNumberId=${phoneNumberId}`)
      return ((await response.json()) as { data: ReceivedSend[] }).data
    },
    async ready() {
      await eventually(() => isReady(system.gatewayUrl))
    },
    stop: own.stop,
  }
  return parley
}
