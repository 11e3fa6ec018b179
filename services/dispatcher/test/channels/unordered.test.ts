import { expect, test } from '@jest/globals'
import type { Callback } from '../../src/channels/callback.ts'
import { createEndpoints } from '../../src/channels/endpoints/endpoints.ts'
import { agentLine } from '../agents/agent-line.ts'

const line = agentLine()
const OPEN_MS = 200

test('a message that others may pass is sent once the circuit breaker of its endpoint closes', async () => {
  const sent: string[] = []
  const callback: Callback = {
    reports: false,
    urlOf: () => 'http://endpoint.example/',
    deliver: async ({ id }) => {
      sent.push(id)
      return { kind: 'accepted', delivered: true }
    },
  }
  const endpoints = createEndpoints({ now: Date.now, opened: () => {} })
  let closesAt = 0
  const system = line.start({
    config: { ordered: false },
    model: () => 'nobody is asked',
    options: {
      callbackOf: () => callback,
      endpoints: {
        ...endpoints,
        enter: (call) =>
          Date.now() < closesAt
            ? { kind: 'wait', until: closesAt, for: 'circuit_breaker', reason: 'It is open.' }
            : endpoints.enter(call),
      },
    },
  })
  // The threads that the store has are known then, and what comes runs before it is stored.
  system.publish('before', { thread: 'before', answer: { message: 'Hello' } })
  await system.until('before')
  closesAt = Date.now() + OPEN_MS
  system.publish('passed', { answer: { message: 'Hello' } })
  expect((await system.until('passed')).state).toBe('delivered')
  expect(sent).toEqual(['before:0', 'passed:0'])
})
