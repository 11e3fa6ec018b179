import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { type CallEndpoint, startCallEndpoint } from './call-endpoint.ts'
import { type DispatchWorld, startDispatchWorld } from './dispatch-world.ts'

/** A world for the tests of a file, whose channel `line` (1) calls an endpoint that is as new before each test. */
export function rpcLine() {
  let world: DispatchWorld
  let endpoint: CallEndpoint
  /** A channel that calls `/callback` of the endpoint, but for what a test wants otherwise. */
  const rpc = (more: Record<string, unknown> = {}) => ({
    name: 'Support',
    description: '',
    extId: 'line',
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
    config: { callbackUrl: `${endpoint.url}/callback` },
    ...more,
  })
  beforeAll(async () => {
    endpoint = await startCallEndpoint()
    world = await startDispatchWorld()
    await world.putChannel(1, rpc())
  })
  afterAll(async () => {
    await world.close()
    await endpoint.close()
  })
  beforeEach(() => endpoint.forget())
  return {
    /** Once the tests run, as is the rest. */
    get world() {
      return world
    },
    get endpoint() {
      return endpoint
    },
    rpc,
  }
}

/** A message that carries its answer. */
export const text = (message: string, thread: string, extId = 'line') => ({
  extId,
  user: { phone: '+551199' },
  thread: { extId: thread },
  answer: { message },
})
