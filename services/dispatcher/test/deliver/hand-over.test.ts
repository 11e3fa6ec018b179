import { expect, test } from '@jest/globals'
import { agentLine } from '../agents/agent-line.ts'

const line = agentLine()

test('a hand-over does not wait for a handler that hangs, and the next owner asks it again', async () => {
  let asked = 0
  const system = line.start({
    model: () => 'nobody is asked',
    options: {
      channels: {
        find: async (workspace) => ({
          ...{ _id: 1, workspace, hook: 'rpc', callback: 'rpc', config: {} },
          handlerUrl: 'https://handler.example/',
        }),
      },
      handle: ({ signal }) => {
        asked++
        if (asked > 1) return Promise.resolve({ kind: 'answer', answer: { message: 'Hello' } })
        const hung = {
          kind: 'retryable',
          code: 'no_answer',
          fault: 'channel',
          reason: 'Broken off.',
        } as const
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(hung)))
      },
    },
  })
  system.publish('asked')
  await system.until('asked', () => asked === 1)
  await system.handOver()
  const record = await system.until('asked')
  expect([record.state, asked, system.sent]).toEqual(['delivered', 2, [{ id: 'asked:0', text: 'Hello' }]])
  expect(record.attempts.map(({ step }) => step)).toEqual(['asked:0'])
})
