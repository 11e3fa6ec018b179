import { BlockList } from 'node:net'
import { buildModelSimulator } from '@parley/local/model-simulator/app'
import { type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import type { ModelChoice, ModelClient, ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import { createGuardedFetch, type GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'

const MAX_BYTES = 5 * 1024 * 1024

/** A fetch to this machine, as `npm start` allows it. */
export function localFetch(): GuardedFetch {
  const allowed = new BlockList()
  allowed.addSubnet('127.0.0.0', 8)
  return createGuardedFetch({ allowed, maxSockets: 64, maxBytes: MAX_BYTES })
}

/** A request with what a test says of it. */
export function modelRequest(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    workspace: 1,
    system: 'You are Lia.',
    conversation: [{ role: 'person', text: 'Hello there' }],
    tools: [],
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...more,
  }
}

export const parcelTool = {
  name: 'findOrder',
  description: 'Finds an order',
  inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
}

/** The model simulator and a client that talks to it. */
export interface ModelWorld {
  url: string
  client: ModelClient
  choice: ModelChoice
  ask(request?: Partial<ModelRequest>, choice?: Partial<ModelChoice>): Promise<ModelResult>
  script(...responses: object[]): Promise<void>
  /** The bodies of the requests since the last script. */
  requests(): Promise<Parsed[]>
  close(): Promise<void>
}

export async function startModelWorld(): Promise<ModelWorld> {
  const simulator: Listening = await listen(buildModelSimulator())
  const guarded = localFetch()
  const client = createModelClient({ fetch: guarded.fetch })
  const choice: ModelChoice = {
    provider: 'openai-compatible',
    model: 'simulator',
    baseUrl: `${simulator.url}/v1`,
    apiKey: 'a-key-of-nobody-4711',
  }
  const control = async (method: string, path: string, body?: object) => {
    const init = { method, headers: { 'content-type': 'application/json' } }
    const response = await fetch(`${simulator.url}/simulator/${path}`, {
      ...init,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as Parsed
  }
  return {
    url: simulator.url,
    client,
    choice,
    ask: (request, own) => client.ask({ ...choice, ...own }, modelRequest(request)),
    async script(...responses) {
      await control('PUT', 'script', { responses })
      await control('DELETE', 'requests')
    },
    requests: async () => (await control('GET', 'requests')).data,
    async close() {
      guarded.close()
      await simulator.close()
    },
  }
}
