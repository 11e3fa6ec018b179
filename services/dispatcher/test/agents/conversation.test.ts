import { describe, expect, test } from '@jest/globals'
import type { ConversationItem, ModelRequest } from '../../src/agents/model-client.ts'
import { itemsOf, turnItems } from '../../src/agents/turns/conversation-items.ts'
import { createReadExchanges, createReadHistory } from '../../src/agents/turns/history.ts'
import { createReadQuoted } from '../../src/conversations/quoted-messages.ts'
import type { MessageRecord, Send, SendContent, SendState } from '../../src/message/message-record.ts'
import { newRecord } from '../new-record.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn, toolCall } from './agent-system.ts'

const line = agentLine()
const LIMITS = { historyTokens: 8_000, historyLimit: 50 }

const textsOf = (items: ConversationItem[]) =>
  items.map((item) => (item.role === 'data' ? 'data' : `${item.role}: ${item.text}`))

describe('the history', () => {
  test('has what was said, called and sent before, in order, templates of callers of the API among it', async () => {
    const requests: ModelRequest[] = []
    const system = line.start({
      model: (request) => {
        requests.push(request)
        const isFirst = request.conversation.at(-1)?.role === 'person' && lastSaid(request) !== 'Thanks!'
        return isFirst ? modelTurn('Looking.', [toolCall('note', { id: 7 })]) : 'It left.'
      },
      open: () => ({
        kind: 'call',
        deliver: async () => ({ kind: 'answered', result: { state: 'done', text: '{"left":true}' } }),
      }),
    })
    const template = { name: 'f', args: { template: 'welcome', language: 'en', variables: ['Ana'] } }
    system.publish('h-template', { input: undefined, answer: { functions: [template] } })
    system.publish('h-first', { input: 'Where is my order?' })
    system.publish('h-elsewhere', { thread: 'another' })
    await system.until('h-first')
    system.publish('h-second', { input: 'Thanks!' })
    await system.until('h-second')
    await system.until('h-elsewhere')
    const { conversation } = requests.find((request) => lastSaid(request) === 'Thanks!') as ModelRequest
    expect(textsOf(conversation)).toEqual([
      'assistant: [Template welcome (en) | Ana]',
      'person: Where is my order?',
      'assistant: Looking.',
      'assistant: It left.',
      'data',
      'person: Thanks!',
    ])
    expect(conversation[2]).toMatchObject({
      calls: [{ tool: 'note', args: '{"id":7}', result: { state: 'done', text: '{"left":true}' } }],
    })
  })

  const turnSaid = (states: SendState[]) => {
    const sends = states.map((state, n): Send => {
      const text = ['One.', 'Two.'][n] ?? ''
      return { id: text, content: { kind: 'text', text }, state, of: { turn: 0 } }
    })
    return textsOf(turnItems({ turns: [modelTurn('One. Two.').turn], sends }))
  }

  test('has of a turn whose text is several sends what had left when a person took over', () => {
    expect(turnSaid(['sent', 'pending'])).toEqual(['assistant: One.'])
    expect(turnSaid(['sent', 'sent'])).toEqual(['assistant: One. Two.'])
    expect(turnSaid(['pending', 'pending'])).toEqual([])
  })

  test('has nothing of what the provider reported as failed, of a turn or sent without one', () => {
    expect(turnSaid(['failed', 'failed'])).toEqual([])
    expect(turnSaid(['sent', 'failed'])).toEqual(['assistant: One.'])
    const content: SendContent = { kind: 'template', template: 'welcome', language: 'en', variables: [] }
    const sent = (state: SendState) =>
      textsOf(itemsOf({ ...newRecord({ sends: [{ id: 'a', content, state }] }), message: undefined }))
    expect(sent('delivered')).toContain('assistant: [Template welcome (en)]')
    expect(sent('failed')).not.toContain('assistant: [Template welcome (en)]')
  })

  const insert = async (workspace: number, records: Partial<MessageRecord>[]) => {
    const bodies = records.map((record, n) => {
      const order = record.order ?? n + 1
      const receivedAt = new Date(Date.UTC(2026, 0, 1) + order * 1_000)
      const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {}, input: `said ${order}` })
      return newRecord({ _id: `${workspace}-${n}`, workspace, order, receivedAt, body, ...record })
    })
    for (let at = 0; at < bodies.length; at += 10_000)
      await line.collections.messages.insertMany(bodies.slice(at, at + 10_000) as never[], { ordered: false })
  }
  const current = (workspace: number, order: number) =>
    newRecord({
      _id: 'current',
      workspace,
      order,
      receivedAt: new Date(Date.UTC(2026, 0, 1) + order * 1_000),
    })
  const read = (workspace: number, order: number, limits = LIMITS) =>
    createReadHistory(
      line.collections,
      createReadExchanges(line.collections, createReadQuoted(line.collections)),
    )(current(workspace, order), limits).then(textsOf)

  test('ends where the next message would exceed the tokens, or the limit', async () => {
    await insert(
      9_001,
      Array.from({ length: 60 }, () => ({})),
    )
    expect((await read(9_001, 100)).length).toBe(50)
    expect(await read(9_001, 100, { historyTokens: 8_000, historyLimit: 2 })).toEqual([
      'person: said 59',
      'person: said 60',
    ])
    // Seven characters are two tokens.
    expect(await read(9_001, 100, { historyTokens: 5, historyLimit: 50 })).toEqual([
      'person: said 59',
      'person: said 60',
    ])
    expect(await read(9_001, 100, { historyTokens: 0, historyLimit: 50 })).toEqual([])
  })

  test('leaves out later messages and other channels, and says where one is too long to be read', async () => {
    const body = JSON.stringify({ input: 'x'.repeat(70_000) })
    await insert(9_002, [{}, { channel: 'other' }, { body }, {}, { order: 9 }])
    expect(await read(9_002, 5)).toEqual([
      'person: said 1',
      'person: [A message too long to be repeated.]',
      'person: said 4',
    ])
  })

  test('goes by the sequence of arrival where messages came in the same millisecond', async () => {
    const receivedAt = new Date(Date.UTC(2026, 0, 1))
    await insert(9_005, [
      { _id: 'tie-c', receivedAt },
      { _id: 'tie-a', receivedAt },
      { _id: 'tie-b', receivedAt },
    ])
    expect(await read(9_005, 5)).toEqual(['person: said 1', 'person: said 2', 'person: said 3'])
  })

  test('goes on behind a page that ends amid messages of the same millisecond', async () => {
    const [early, late] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)]
    await insert(
      9_006,
      Array.from({ length: 48 }, (_, n) => ({ receivedAt: new Date(n < 45 ? early : late) })),
    )
    expect(await read(9_006, 86_500)).toEqual(Array.from({ length: 48 }, (_, n) => `person: said ${n + 1}`))
  })

  test('of many threads read at the same time, each is its own', async () => {
    await insert(
      9_007,
      Array.from({ length: 120 }, (_, n) => ({ thread: `t${n % 40}` })),
    )
    const readHistory = createReadHistory(
      line.collections,
      createReadExchanges(line.collections, createReadQuoted(line.collections)),
    )
    const read = await Promise.all(
      Array.from({ length: 40 }, (_, n) => readHistory({ ...current(9_007, 200), thread: `t${n}` }, LIMITS)),
    )
    expect(read.map(textsOf)).toEqual(
      Array.from({ length: 40 }, (_, n) => [n + 1, n + 41, n + 81].map((said) => `person: said ${said}`)),
    )
  })

  test('says that there was audio, which the model can not hear', async () => {
    const body = JSON.stringify({ answer: {}, audio: 'media-id' })
    await insert(9_003, [{ body }])
    expect(await read(9_003, 5)).toEqual(['person: [The person sent audio, which you can not hear.]'])
  })

  test('is read by the index alone, however many messages there are', async () => {
    await insert(
      9_004,
      Array.from({ length: 20_000 }, (_, n) => ({ thread: n % 2 === 0 ? 't' : `t${n}` })),
    )
    const { messages } = line.collections
    const explained = (await messages
      .find({ workspace: 9_004, thread: 't', receivedAt: { $lte: new Date() } })
      .sort({ receivedAt: -1, _id: -1 })
      .limit(200)
      .explain('executionStats')) as {
      executionStats: { totalKeysExamined: number; totalDocsExamined: number }
    }
    expect(explained.executionStats).toMatchObject({ totalKeysExamined: 200, totalDocsExamined: 200 })
    expect((await read(9_004, 30_000)).length).toBe(50)
  })
})
