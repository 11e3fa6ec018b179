import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { actionOf, agentOf, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'
import { speaking, text, tool } from './mcp-server.ts'
import { script } from './scripted-model.ts'

const line = agentLine()
let server: CallEndpoint
let tools: ReturnType<typeof startTools>

beforeAll(async () => {
  server = await startCallEndpoint()
})
afterAll(() => server.close())
beforeEach(() => {
  tools = startTools()
})
afterEach(async () => {
  await tools.close()
  server.forget()
})

const MAY_HAVE_RUN = {
  state: 'failed',
  text: 'This may have been done, and must not be repeated: look up whether it was done. The call was interrupted.',
  uncertain: true,
}
const PAID = { state: 'done', text: 'paid' }

/** A message whose model calls a tool of an MCP server, which respond the first call when it is told to. */
async function calling(id: string, { annotations = {}, unreached = 0 } = {}) {
  const { model, requests } = script(modelTurn('', [toolCall('pay')]), 'Well.', 'Well.')
  const action = actionOf({ _id: 50, specType: 'mcp', moduleUrl: `${server.url}/mcp` })
  const system = line.start({
    model,
    parts: {
      loadAgent: async () => ({ kind: 'found', agent: agentOf([action]) }),
      openToolbox: ({ agent }) => tools.open(agent),
    },
  })
  const stored: Promise<MessageRecord | null>[] = []
  const first = Promise.withResolvers<() => void>()
  const speak = speaking(
    () => ({ tools: [tool('pay', { annotations })] }),
    () => text('paid'),
  )
  let left = unreached
  server.respond = (call, res) => {
    // Only the sessions of calls have one.
    if (call.headers['idempotency-key'] !== undefined && left-- > 0) return void res.destroy()
    const isCall = call.method === 'POST' && call.json.method === 'tools/call'
    if (isCall) stored.push(system.stored(id))
    if (isCall && stored.length === 1) first.resolve(() => speak(call, res))
    else speak(call, res)
  }
  system.publish(id)
  const answer = await first.promise
  return { system, stored, requests, answer }
}

const resultOf = (record: MessageRecord) => record.turns?.[0]?.calls[0]?.result

describe('a call of an MCP server whose tool may not run twice', () => {
  test('is claimed in the store before it leaves', async () => {
    const { system, stored, answer } = await calling('claimed')
    answer()
    const record = await system.until('claimed')
    expect([(await stored[0])?.sends[0]?.state, resultOf(record)]).toEqual(['claimed', PAID])
  })

  test('is not made again by the next instance when one dies: the model reads that it may have run', async () => {
    const { system, stored, requests } = await calling('killed')
    await system.kill()
    const record = await system.until('killed')
    expect([stored.length, resultOf(record), record.state]).toEqual([1, MAY_HAVE_RUN, 'delivered'])
    expect(requests[1]?.conversation.at(-1)).toMatchObject({ calls: [{ result: MAY_HAVE_RUN }] })
    expect(record.attempts[0]).toMatchObject({ step: 'killed:0', outcome: 'uncertain', code: 'interrupted' })
  })

  test('may have run when the server can not be asked for its tools after the instance died', async () => {
    const { system, stored } = await calling('unlisted')
    server.respond = (_call, res) => void res.writeHead(401).end()
    await tools.close()
    tools = startTools()
    await system.kill()
    const record = await system.until('unlisted')
    expect([stored.length, resultOf(record)?.text]).toEqual([
      1,
      expect.stringMatching(/^This may have been done, and must not be repeated: .* are missing/),
    ])
  })

  test('has the result that its former owner is given after it has lost the lease', async () => {
    const { system, stored, answer } = await calling('moved')
    system.loseLease(200)
    await eventually(async () => (await system.waiting).get('status')?.messages === 1)
    answer()
    const record = await system.until('moved')
    expect([stored.length, resultOf(record)]).toEqual([1, PAID])
  })

  test('may have run when a person takes the thread over from an instance that died', async () => {
    const { system, stored } = await calling('taken')
    await line.collections.messages.updateOne(
      { _id: 'taken' },
      { $set: { takenOver: new Date() }, $inc: { revision: 1 } },
    )
    await system.kill()
    const record = await system.until('taken')
    expect([stored.length, record.reason, resultOf(record)]).toEqual([1, 'handler_is_person', MAY_HAVE_RUN])
  })

  test('is not made again by a replay of a message that died meanwhile', async () => {
    const { system, stored } = await calling('again')
    await line.collections.messages.updateOne(
      { _id: 'again' },
      { $set: { state: 'dead' }, $unset: { open: true }, $inc: { revision: 1 } },
    )
    await system.kill()
    await system.replay('again')
    await line.collections.messages.updateOne(
      { _id: 'again' },
      { $set: { updatedAt: new Date(Date.now() - 60_000) } },
    )
    const record = await system.until('again')
    expect([stored.length, resultOf(record)]).toEqual([1, MAY_HAVE_RUN])
  })

  test('is tried again when it can not have run', async () => {
    const { system, stored, answer } = await calling('unreached', { unreached: 1 })
    answer()
    const record = await system.until('unreached')
    expect([stored.length, resultOf(record), record.attempts[0]?.outcome]).toEqual([1, PAID, 'retryable'])
  })
})

test('a call of an MCP server whose tool may run twice is made again when the instance dies', async () => {
  const { system, stored } = await calling('idempotent', { annotations: { idempotentHint: true } })
  await system.kill()
  const record = await system.until('idempotent')
  expect([stored.length, resultOf(record)]).toEqual([2, PAID])
})

test.each([
  ['one call', ['pay']],
  ['several calls at once', ['pay', 'book']],
])(
  'what an instance died of and fails under the same key later may have been done: %s',
  async (_name, names) => {
    const keys: string[] = []
    const { model } = script(
      modelTurn(
        '',
        names.map((name) => toolCall(name)),
      ),
      'Well.',
    )
    const id = `keyed-${names.length}`
    const system = line.start({
      model,
      actionOf: (name) => names.indexOf(name) + 1,
      open: () => ({
        ...{ kind: 'call', isKeyed: true },
        deliver: (key) => {
          keys.push(key)
          if (keys.length <= names.length) return new Promise(() => undefined)
          return Promise.resolve({ kind: 'answered', result: { state: 'failed', text: 'refused' } })
        },
      }),
    })
    system.publish(id)
    await eventually(() => keys.length === names.length)
    await system.kill()
    const record = await system.until(id)
    expect(keys.slice(names.length).toSorted()).toEqual(keys.slice(0, names.length).toSorted())
    for (const call of record.turns?.[0]?.calls ?? [])
      expect(call.result).toEqual({
        state: 'failed',
        text: 'This may have been done, and must not be repeated: look up whether it was done. refused',
        uncertain: true,
      })
  },
)
