import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildSimulator } from '@parley/local/simulator/app'

interface SimulatorResponse {
  status: number
  body: Record<string, unknown>
}

/** A simulator on a free port, and the few requests that its tests make. */
export async function startSimulator(options: { directory?: string } = {}) {
  const simulator = await buildSimulator(options)
  const server = createServer(simulator.app).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const request = async (path: string, init?: RequestInit): Promise<SimulatorResponse> => {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(5_000) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return {
    url,
    get: (path: string) => request(path),
    post: (
      path: string,
      body: unknown,
      headers: Record<string, string> = { authorization: 'Bearer token' },
    ) =>
      request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await simulator.close()
    },
  }
}

export const template = (overrides: object = {}) => ({
  messaging_product: 'whatsapp',
  recipient_type: 'individual',
  to: '+55 11 98888-7777',
  type: 'template',
  template: {
    name: 'welcome_offer',
    language: { code: 'pt_BR' },
    components: [
      {
        type: 'body',
        parameters: [
          { type: 'text', text: 'João' },
          { type: 'text', text: '20%' },
        ],
      },
    ],
  },
  biz_opaque_callback_data: 'message-1:0',
  ...overrides,
})
