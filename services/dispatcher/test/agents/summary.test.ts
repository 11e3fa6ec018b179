import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import { CHARACTERS_PER_TOKEN, type Exchange, shortestOf } from '../../src/agents/turns/fit-history.ts'
import { outgoingOf } from '../../src/agents/turns/summary.ts'
import { type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import { agentLine } from './agent-line.ts'
import { type AgentBehaviour, type AgentSystem, lastSaid, modelTurn } from './agent-system.ts'

const line = agentLine()
const LIMIT = 4

const isSummary = ({ system }: ModelRequest) => system.startsWith('You take notes')
const factsOf = ({ conversation }: ModelRequest): Record<string, unknown>[] =>
  conversation.flatMap((item) => (item.role === 'data' ? [JSON.parse(item.json)] : []))
const saidIn = ({ conversation }: ModelRequest) =>
  conversation.flatMap((item) => (item.role === 'person' ? [item.text] : []))

/** A system whose channel summarises, with the requests that its model got. */
function summarising(
  behaviour: Partial<AgentBehaviour> & {
    notes?: (request: ModelRequest, n: number) => string | Promise<string>
  },
) {
  const { notes = (_request, n) => `notes ${n}`, config = {}, ...others } = behaviour
  const responses: ModelRequest[] = []
  const summaries: ModelRequest[] = []
  const system = line.start({
    config: { historyLimit: LIMIT, summarise: true, ...config },
    model: (request) => {
      if (!isSummary(request)) {
        responses.push(request)
        return `You said ${lastSaid(request)}.`
      }
      summaries.push(request)
      return notes(request, summaries.length)
    },
    ...others,
  })
  return { system, responses, summaries }
}

const threadOf = ({ workspace }: AgentSystem) => ({
  _id: threadId({ workspace, channel: 'c', extId: 't' }),
  workspace,
})

/** As the log of threads writes it. */
async function addThread(system: AgentSystem): Promise<void> {
  const thread = { ...threadOf(system), channel: 'c', extId: 't', user: {}, handler: 'assistant' }
  const written = { lastMessage: '', lastAt: new Date(), unread: 0, expiresAt: new Date(2 ** 42) }
  await line.collections.threads.insertOne({ ...thread, ...written } as ThreadRecord)
}

async function say(system: AgentSystem, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    system.publish(id)
    await system.until(id)
  }
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`)

describe('a conversation that is summarised', () => {
  test('has what falls out of its history in the summary, and the messages after it whole', async () => {
    const { system, responses, summaries } = summarising({})
    await addThread(system)
    await say(system, named('a', 6))
    expect(summaries).toHaveLength(1)
    const [summarised] = summaries as [ModelRequest]
    expect(factsOf(summarised)[0]).toEqual({
      conversation: ['a1', 'a2', 'a3'].flatMap((id) => [{ person: id }, { assistant: `You said ${id}.` }]),
    })
    expect([summarised.tools, saidIn(summarised)]).toEqual([[], ['Write the notes.']])
    const last = responses.at(-1) as ModelRequest
    expect(factsOf(last)[0]).toEqual({ summaryOfEarlierMessages: 'notes 1' })
    expect(saidIn(last)).toEqual(['a4', 'a5', 'a6'])
  })

  test('has what the summary said before in the next one', async () => {
    const { system, responses, summaries } = summarising({})
    await addThread(system)
    await say(system, named('b', 9))
    expect(summaries).toHaveLength(2)
    expect(factsOf(summaries[1] as ModelRequest)[0]).toMatchObject({
      notes: 'notes 1',
      conversation: [{ person: 'b4' }, {}, { person: 'b5' }, {}, { person: 'b6' }, {}],
    })
    expect(factsOf(responses.at(-1) as ModelRequest)[0]).toEqual({ summaryOfEarlierMessages: 'notes 2' })
  })

  test('is so only where the channel asks for it', async () => {
    const { system, responses, summaries } = summarising({ config: { summarise: undefined } })
    await addThread(system)
    await say(system, named('c', 6))
    expect(summaries).toEqual([])
    expect(saidIn(responses.at(-1) as ModelRequest)).toEqual(['c2', 'c3', 'c4', 'c5', 'c6'])
  })

  test('is answered with what fits where the model writes no summary, which is tried again', async () => {
    const { system, responses } = summarising({ notes: (_request, n) => (n === 1 ? '' : 'late') })
    await addThread(system)
    await say(system, named('d', 6))
    expect(saidIn(responses.at(-1) as ModelRequest)).toEqual(['d2', 'd3', 'd4', 'd5', 'd6'])
    await say(system, ['d7'])
    expect(factsOf(responses.at(-1) as ModelRequest)[0]).toEqual({ summaryOfEarlierMessages: 'late' })
  })

  test('has a summary that takes a quarter of its history at most', async () => {
    const { system, responses } = summarising({
      config: { historyTokens: 100, historyLimit: 50 },
      notes: () => `${'n'.repeat(99)}😀`,
    })
    await addThread(system)
    await say(system, named('a-message-of-twenty-characters-', 8))
    const [{ summaryOfEarlierMessages = '' } = {}] = factsOf(responses.at(-1) as ModelRequest)
    expect(summaryOfEarlierMessages).toBe('n'.repeat(99))
  })

  test('counts the tokens of its summary once, and no turn for it, also when an instance dies while it is made', async () => {
    const { system, summaries } = summarising({
      notes: (_request, n) => (n === 1 ? new Promise<string>(() => {}) : 'notes'),
    })
    await addThread(system)
    await say(system, named('e', 5))
    system.publish('e6')
    await eventually(async () => summaries.length === 1)
    await system.until('e6', ({ open }) => open === true)
    await system.kill()
    await system.until('e6')
    const { usage, threads } = line.collections
    const { summary } = (await threads.findOne(threadOf(system))) as ThreadRecord
    expect([summaries.length, summary?.text, system.sent.length]).toEqual([2, 'notes', 6])
    const counted = () => usage.find({ workspace: system.workspace, inputTokens: { $gt: 0 } }).toArray()
    await eventually(async () => (await counted()).length === 7)
    const entries = await counted()
    const { turn } = modelTurn('notes')
    expect(entries.reduce((sum, { inputTokens = 0 }) => sum + inputTokens, 0)).toBe(7 * turn.inputTokens)
    expect(entries.reduce((sum, { turns = 0 }) => sum + turns, 0)).toBe(6)
  })

  test('has no summary any more of a message that is deleted', async () => {
    const { system } = summarising({})
    await addThread(system)
    const text = (id: string) => ({ id, type: 'text', text: { body: id } })
    for (const id of named('g', 6)) await system.until(system.receive(text(id)))
    const summaryOf = async () => (await line.collections.threads.findOne(threadOf(system)))?.summary?.text
    expect(await summaryOf()).toBe('notes 1')
    const deletion = (id: string, of: string) => ({ id, type: 'revoke', revoke: { original_message_id: of } })
    await system.until(system.receive(deletion('h1', 'g5')))
    expect(await summaryOf()).toBe('notes 1')
    await system.until(system.receive(deletion('h2', 'g2')))
    expect(await summaryOf()).toBeUndefined()
  })

  test('gets no summary of what is erased meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { system, summaries } = summarising({ notes: () => promise })
    await addThread(system)
    await say(system, named('f', 5))
    system.publish('f6')
    await eventually(async () => summaries.length === 1)
    const { threads } = line.collections
    const { _id } = threadOf(system)
    await threads.replaceOne({ _id }, { handler: 'assistant' } as ThreadRecord)
    resolve('what was erased')
    await system.until('f6')
    expect(await threads.findOne({ _id })).toEqual({ _id, handler: 'assistant' })
  })
})

describe('what is summarised', () => {
  const exchanges = fc.array(
    fc.record({ length: fc.nat(60), isRequired: fc.boolean() }).map(
      ({ length, isRequired }): Exchange => ({
        items: [{ role: 'person', text: 'x'.repeat(length) }],
        isRequired,
      }),
    ),
    { maxLength: 30 },
  )
  const sizes = fc.record({ historyTokens: fc.integer({ min: 1, max: 100 }), historyLimit: fc.nat(20) })

  test('is the oldest, nothing while all fits, and leaves half of the room or the newest alone', () => {
    fc.assert(
      fc.property(exchanges, sizes, (all, size) => {
        const own = all.filter(({ isRequired }) => !isRequired)
        const outgoing = outgoingOf(all, size)
        expect(outgoing).toEqual(own.slice(0, outgoing.length))
        const characters = (some: readonly Exchange[]) =>
          some.reduce((sum, { items }) => sum + shortestOf(items), 0)
        const room = size.historyTokens * CHARACTERS_PER_TOKEN
        const isFitting = own.length <= size.historyLimit && characters(own) <= room
        if (isFitting || own.length <= 1) return expect(outgoing).toEqual([])
        const left = own.slice(outgoing.length)
        expect(outgoing.length).toBeGreaterThan(0)
        expect(left.length).toBeGreaterThan(0)
        if (left.length === 1) return
        expect(characters(left)).toBeLessThanOrEqual(room / 2)
        expect(left.length).toBeLessThanOrEqual(size.historyLimit / 2)
      }),
    )
  })
})
