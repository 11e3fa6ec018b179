import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { defined } from '@parley/shared/defined'
import type { ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import { createReadQuoted } from '../../src/conversations/quoted-messages.ts'
import { createIsWithPerson } from '../../src/conversations/take-over.ts'
import { threadId } from '../../src/message/thread-record.ts'
import { agentLine } from './agent-line.ts'
import type { AgentBehaviour, AgentSystem } from './agent-system.ts'

const line = agentLine()
const ECHO = { webhook_field: 'smb_message_echoes' }

const text = (id: string, body: string, more: object = {}) =>
  [{ id, type: 'text', text: { body }, ...more }, { input: body }] as const
const edit = (id: string, of: string, body: string, more: object = {}) => ({
  ...{ id, type: 'edit', ...more },
  edit: { original_message_id: of, message: { type: 'text', text: { body } } },
})
const revoke = (id: string, of: string, more: object = {}) => ({
  ...{ id, type: 'revoke', revoke: { original_message_id: of }, ...more },
})

/** An agent that answers with what it read last, and what it was asked with. */
function startAgent(
  config: Record<string, unknown> = {},
  model: (request: ModelRequest, asked: number) => ModelResult | string | Promise<ModelResult | string> = (
    _request,
    asked,
  ) => `answer ${asked}`,
  send?: AgentBehaviour['send'],
): { system: AgentSystem; asked: ModelRequest[] } {
  const asked: ModelRequest[] = []
  const isWithPerson = createIsWithPerson(line.collections)
  const system = line.start({
    config,
    options: { threads: { isWithPerson, isOutsideWindow: async () => false } },
    ...defined({ send }),
    model: (request) => {
      asked.push(request)
      return model(request, asked.length)
    },
  })
  return { system, asked }
}

/** Returns the input of a model, as the lines of a conversation. */
const read = ({ conversation }: ModelRequest): string[] =>
  conversation.flatMap((item) =>
    item.role === 'data' ? [] : [`${item.role === 'person' ? 'P' : 'A'}: ${item.text}`],
  )

describe('a notice', () => {
  test.each([
    [{ type: 'system', system: { type: 'user_changed_number', body: 'Ana changed', wa_id: '2' } }],
    [{ type: 'unsupported', unsupported: { type: 'poll_creation' }, errors: [{ code: 131051 }] }],
    [{ type: 'request_welcome' }],
    [{ type: 'interactive', interactive: { type: 'call_permission_reply' } }],
    [{ type: 'hologram', hologram: { text: 'hi' } }],
  ])('asks nobody, and is done at once: %j', async (meta) => {
    const { system, asked } = startAgent()
    const record = await system.until(system.receive({ id: 'n', ...meta }))
    expect(record).toMatchObject({ state: 'done', reason: 'notice', sends: [] })
    expect([record.inbound, asked.length]).toEqual([undefined, 0])
  })

  test('is read by a model that is asked later, and is no answer to it', async () => {
    const { system, asked } = startAgent()
    for (const id of ['n1', 'n2'])
      await system.until(system.receive({ id, type: 'unsupported', unsupported: { type: 'poll_creation' } }))
    await system.until(system.receive(...text('t', 'And now?')))
    const poll = "P: [The person sent something that can't be shown: poll.]"
    expect(asked.map(read)).toEqual([[poll, poll, 'P: And now?']])
  })

  test('does not wait for what its thread waits for', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { system } = startAgent({}, () => promise)
    const first = system.receive(...text('t', 'Hello'))
    await system.until(system.receive({ id: 'n', type: 'request_welcome' }))
    expect((await system.stored(first))?.open ?? true).toBe(true)
    resolve('hi')
    await system.until(first)
  })
})

describe('an edit', () => {
  test('after the answer changes what is read later; the original stays as it came', async () => {
    const { system, asked } = startAgent()
    const original = system.receive(...text('t1', 'send 10 boxes'))
    await system.until(original)
    expect(await system.until(system.receive(edit('e', 't1', 'send 1 box')))).toMatchObject({
      state: 'done',
      reason: 'edit',
    })
    await system.until(system.receive(...text('t2', 'Thanks')))
    expect(asked.map(read)).toEqual([['P: send 10 boxes'], ['P: send 1 box', 'A: answer 1', 'P: Thanks']])
    const stored = await system.stored(original)
    expect([JSON.parse(stored?.body ?? '').input, stored?.changed?.text]).toEqual([
      'send 10 boxes',
      'send 1 box',
    ])
  })

  test('of a message that is gathered is asked with the new text', async () => {
    const { system, asked } = startAgent({ gatherMs: 1_000 })
    const original = system.receive(...text('t1', 'send 10 boxes'))
    await system.until(original, () => true)
    await system.until(system.receive(edit('e', 't1', 'send 1 box')))
    await system.until(original)
    expect(asked.map(read)).toEqual([['P: send 1 box']])
  })

  test('while the model is asked has it asked anew, and the first answer is not sent', async () => {
    const first = Promise.withResolvers<string>()
    const { system, asked } = startAgent({}, (_request, n) => (n === 1 ? first.promise : 'one box'))
    const original = system.receive(...text('t1', 'send 10 boxes'))
    await system.until(original, () => asked.length === 1)
    await system.until(system.receive(edit('e', 't1', 'send 1 box')))
    await system.until(original)
    first.resolve('ten boxes')
    expect(asked.map(read)).toEqual([['P: send 10 boxes'], ['P: send 1 box']])
    expect(system.sent.map((send) => send.text)).toEqual(['one box'])
  })

  test('of a message that waits behind another is asked with the new text', async () => {
    const first = Promise.withResolvers<string>()
    const { system, asked } = startAgent({}, (_request, n) => (n === 1 ? first.promise : 'well'))
    system.receive(...text('t0', 'Hello'))
    const original = system.receive(...text('t1', 'send 10 boxes'))
    await system.until(original, () => asked.length === 1)
    await system.until(system.receive(edit('e', 't1', 'send 1 box')))
    first.resolve('hi')
    await system.until(original)
    expect(asked.map((request) => read(request).at(-1))).toEqual(['P: Hello', 'P: send 1 box'])
  })

  test('that comes before its original is applied when that comes', async () => {
    const { system, asked } = startAgent({ gatherMs: 1_500 })
    const change = system.receive(edit('e', 't1', 'send 1 box'))
    const original = system.receive(...text('t1', 'send 10 boxes'))
    expect((await system.until(change)).reason).toBe('edit')
    await system.until(original)
    expect(asked.map(read)).toEqual([['P: send 1 box']])
  })

  test('the later one counts, in whatever sequence they come, and nothing after a deletion', async () => {
    const { system } = startAgent()
    const original = system.receive(...text('t1', 'one'))
    await system.until(original)
    await system.until(system.receive(edit('e3', 't1', 'three', { timestamp: '300' })))
    await system.until(system.receive(edit('e2', 't1', 'two', { timestamp: '200' })))
    expect((await system.stored(original))?.changed).toMatchObject({ at: new Date(300_000), text: 'three' })
    await system.until(system.receive(revoke('r', 't1', { timestamp: '100' })))
    await system.until(system.receive(edit('e4', 't1', 'four', { timestamp: '400' })))
    expect((await system.stored(original))?.changed).toMatchObject({ at: new Date(100_000), isDeleted: true })
  })

  test.each([
    ['of another thread', {}, { thread: 'other' }],
    ['by the business, of what the person wrote', ECHO, {}],
  ])('%s changes nothing', async (_what, meta, message) => {
    const { system } = startAgent()
    const original = system.receive(...text('t1', 'mine'))
    await system.until(original)
    const change = await system.until(system.receive(edit('e', 't1', 'yours', meta), message))
    expect([change.state, change.reason]).toEqual(['done', 'original_unknown'])
    expect((await system.stored(original))?.changed).toBeUndefined()
  })
})

describe('a deletion', () => {
  test('before anybody was asked has nobody asked', async () => {
    const { system, asked } = startAgent({ gatherMs: 1_000 })
    const original = system.receive(...text('t1', 'a secret'))
    await system.until(original, () => true)
    await system.until(system.receive(revoke('r', 't1')))
    expect(await system.until(original)).toMatchObject({ state: 'done', reason: 'deleted', sends: [] })
    expect(asked).toEqual([])
  })

  test('of the last of several that are gathered leaves the others to be answered', async () => {
    const { system, asked } = startAgent({ gatherMs: 1_000 })
    const first = system.receive(...text('t1', 'a pizza'))
    const last = system.receive(...text('t2', 'a secret'))
    await system.until(last, () => true)
    await system.until(system.receive(revoke('r', 't2')))
    await system.until(first)
    expect((await system.until(last)).state).toBe('delivered')
    expect(asked.map(read)).toEqual([['P: a pizza', 'P: [It was deleted by whoever wrote it.]']])
  })

  test('after the answer takes words and media from what models read', async () => {
    const { system, asked } = startAgent()
    const image = { id: 'i', type: 'image', image: { id: '4711', caption: 'look' } }
    await system.until(system.receive(image, { input: 'look' }))
    await system.until(system.receive(revoke('r', 'i')))
    await system.until(system.receive(...text('t', 'Hello')))
    const [, second] = asked
    expect(second && read(second)).toEqual([
      'P: [It was deleted by whoever wrote it.]',
      'A: answer 1',
      'P: Hello',
    ])
    expect(JSON.stringify(second)).not.toContain('4711')
  })
})

describe('a reaction', () => {
  const reaction = (id: string, emoji: string, of = 't1') => ({
    ...{ id, type: 'reaction', reaction: { emoji, message_id: of } },
  })

  test('asks nobody', async () => {
    const { system, asked } = startAgent()
    for (const emoji of ['👍', ''])
      expect(
        await system.until(system.receive(reaction(`r${emoji}`, emoji), { input: emoji })),
      ).toMatchObject({
        state: 'done',
        reason: 'reaction',
      })
    expect(asked).toEqual([])
  })

  test('is answered where the channel says so, with what it is about', async () => {
    const { system, asked } = startAgent({ answerReactions: true })
    await system.until(system.receive(...text('t1', 'Shall I?')))
    expect((await system.until(system.receive(reaction('r', '👍'), { input: '👍' }))).inbound).toBe(true)
    expect(asked[1] && read(asked[1]).at(-1)).toBe(
      'P: 👍\n[The person reacted with 👍.]\n[In reply to this message of theirs: "Shall I?"]',
    )
  })
})

describe('what is quoted', () => {
  test('reaches the model as data, whoever wrote it, now and later', async () => {
    const { system, asked } = startAgent({}, () => 'We have "ferns".')
    const first = await system.until(system.receive(...text('t1', 'What do you have?')))
    await line.collections.messages.updateOne(
      { _id: first._id },
      { $set: { 'sends.0.providerId': 'wamid.OUT' } },
    )
    await system.until(system.receive(...text('t2', 'How much is it?', { context: { id: 'wamid.OUT' } })))
    await system.until(system.receive(...text('t3', 'Well?', { context: { id: 't1' } })))
    const price = 'P: How much is it?\n[In reply to this message of yours: "We have \\"ferns\\"."]'
    expect(asked[1] && read(asked[1]).at(-1)).toBe(price)
    expect(asked[2] && read(asked[2])).toContain(price)
    expect(asked[2] && read(asked[2]).at(-1)).toBe(
      'P: Well?\n[In reply to this message of theirs: "What do you have?"]',
    )
  })

  test('is of the same thread, as it reads now, and bounded', async () => {
    const { system } = startAgent()
    const other = system.receive(...text('o1', 'of another'))
    await system.until(other)
    await line.collections.messages.updateOne({ _id: other }, { $set: { thread: 'other' } })
    const long = system.receive(...text('t1', 'x'.repeat(2_000)))
    const gone = system.receive(...text('t2', 'a secret'))
    await system.until(long)
    await system.until(gone)
    await system.until(system.receive(revoke('r', 't2')))
    const thread = { workspace: system.workspace, channel: 'c', thread: 't', source: 'meta' }
    const found = await createReadQuoted(line.collections)(thread, ['o1', 't1', 't2', 'nowhere'])
    expect([...found.keys()].sort()).toEqual(['t1', 't2'])
    expect([found.get('t1')?.text.length, found.get('t2')?.text]).toEqual([500, '[deleted]'])
  })
})

describe('a message of a group', () => {
  test('is read with the name of who wrote it', async () => {
    const { system, asked } = startAgent()
    const group = { group_id: 'G' }
    const user = { addresses: ['group:G'] }
    const [ana, said] = text('t1', 'hello all', group)
    await system.until(system.receive(ana, { ...said, user: { ...user, name: 'Ana' } }))
    const [rui, answer] = text('t2', 'hello Ana', group)
    await system.until(system.receive(rui, { ...answer, user: { ...user, name: 'Rui' } }))
    expect(asked[1] && read(asked[1])).toEqual(['P: Ana: hello all', 'A: answer 1', 'P: Rui: hello Ana'])
  })
})

describe('what the business writes in its own app', () => {
  const threadOf = ({ workspace }: AgentSystem) =>
    line.collections.threads.findOne({ _id: threadId({ workspace, channel: 'c', extId: 't' }) })

  test('is read as what the business said, and the agent steps aside', async () => {
    const { system, asked } = startAgent()
    const echo = await system.until(system.receive(...text('e', 'Pedro here, I will call you at 3.', ECHO)))
    expect([echo.state, echo.reason, echo.inbound]).toEqual(['done', 'app_message', undefined])
    const answer = await system.until(system.receive(...text('t1', 'Great, 3 it is')))
    expect([answer.state, answer.reason, asked.length]).toEqual(['done', 'handler_is_person', 0])
    const thread = await threadOf(system)
    expect([thread?.handler, thread?.handedOff?.by]).toEqual(['person', 'person'])
    const minutes = ((thread?.handlerUntil?.getTime() ?? 0) - Date.now()) / 60_000
    expect([minutes > 29, minutes <= 30]).toEqual([true, true])
    await line.collections.threads.updateOne(
      { _id: thread?._id ?? '' },
      { $set: { handlerUntil: new Date() } },
    )
    await system.until(system.receive(...text('t2', 'Still there?')))
    expect(asked.map(read)).toEqual([
      ['A: Pedro here, I will call you at 3.', 'P: Great, 3 it is', 'P: Still there?'],
    ])
  })

  test('gives the thread away until it is given back, where the channel says so', async () => {
    const { system } = startAgent({ echoTakeOverMinutes: 0 })
    await system.until(system.receive(...text('e1', 'Hi', ECHO)))
    const thread = await threadOf(system)
    expect([thread?.handler, thread?.handlerUntil]).toEqual(['person', undefined])
  })

  test('does not make an end of what somebody has for good', async () => {
    const { system } = startAgent({ echoTakeOverMinutes: 0 })
    await system.until(system.receive(...text('e1', 'Hi', ECHO)))
    const { system: other } = startAgent()
    await line.collections.threads.updateMany(
      { workspace: system.workspace },
      { $set: { handedOff: { at: new Date(1), by: 'assistant' } } },
    )
    await system.until(system.receive(...text('e2', 'Hi again', ECHO)))
    expect((await threadOf(system))?.handedOff).toEqual({ at: new Date(1), by: 'assistant' })
    await other.until(other.receive(...text('e3', 'Hi', ECHO)))
    const until = (await threadOf(other))?.handlerUntil ?? new Date(0)
    await other.until(other.receive(...text('e4', 'Hi again', ECHO)))
    expect(((await threadOf(other))?.handlerUntil ?? new Date(0)) > until).toBe(true)
  })

  test('ends a turn that is under way, which sends nothing more', async () => {
    const first = Promise.withResolvers<string>()
    const { system, asked } = startAgent({}, () => first.promise)
    const question = system.receive(...text('t1', 'Hello?'))
    await system.until(question, () => asked.length === 1)
    await system.until(system.receive(...text('e', 'I am here', ECHO)))
    first.resolve('A bot is here')
    expect((await system.until(question)).reason).toBe('handler_is_person')
    expect(system.sent).toEqual([])
  })

  test('is stored once what was leaving has left', async () => {
    const leaving = Promise.withResolvers<void>()
    const { system } = startAgent({}, undefined, async () => {
      await leaving.promise
      return { kind: 'accepted', delivered: true }
    })
    const question = system.receive(...text('t1', 'Hello?'))
    await system.until(question, ({ sends }) => sends[0]?.state === 'claimed')
    const echo = system.receive(...text('e', 'I am here', ECHO))
    await eventually(async () => (await threadOf(system))?.handler === 'person')
    expect(await system.stored(echo)).toBeNull()
    leaving.resolve()
    await system.until(echo)
    expect((await system.stored(question))?.sends[0]?.state).toBe('delivered')
  })

  test('counts for what comes right behind it, however slow the store is', async () => {
    const { system, asked } = startAgent()
    system.line.slowMs = 40
    system.receive(...text('e', 'I am here', ECHO))
    const question = await system.until(system.receive(...text('t1', 'Good')))
    expect([question.reason, asked.length]).toEqual(['handler_is_person', 0])
  })

  test('is not there twice where it is a send of ours, and nobody steps aside', async () => {
    const { system, asked } = startAgent()
    const first = await system.until(system.receive(...text('t1', 'Hello')))
    await line.collections.messages.updateOne(
      { _id: first._id },
      { $set: { 'sends.0.providerId': 'wamid.OUT' } },
    )
    const echo = await system.until(system.receive(...text('wamid.OUT', 'answer 1', ECHO)))
    expect(echo.reason).toBe('own_send')
    await system.until(system.receive(...text('t2', 'And?')))
    expect(asked[1] && read(asked[1])).toEqual(['P: Hello', 'A: answer 1', 'P: And?'])
  })

  test('is something to a model also where it has no words', async () => {
    const { system, asked } = startAgent()
    for (const [type, content] of Object.entries({ audio: { id: '1' }, image: { id: '2' }, sticker: {} }))
      await system.until(system.receive({ id: type, type, [type]: content, ...ECHO }))
    await line.collections.threads.updateMany(
      { workspace: system.workspace },
      { $set: { handler: 'assistant' } },
    )
    await system.until(system.receive(...text('t', 'Nice')))
    expect(asked.map(read)).toEqual([['A: [audio]', 'A: [image]', 'A: [sticker]', 'P: Nice']])
  })

  test('reads as it was edited there, and deleted', async () => {
    const { system } = startAgent()
    const echo = system.receive(...text('e', 'at 3', ECHO))
    await system.until(echo)
    await system.until(system.receive(edit('x', 'e', 'at 4', ECHO)))
    expect((await system.stored(echo))?.changed?.text).toBe('at 4')
    await system.until(system.receive(revoke('y', 'e', ECHO)))
    expect((await system.stored(echo))?.changed?.isDeleted).toBe(true)
  })
})

describe('what was written before the channel was connected', () => {
  test('is read in its place, and asks nobody', async () => {
    const { system, asked } = startAgent()
    const past = { webhook_field: 'history' }
    const [own, hello] = text('h2', 'Hello Ana', { ...past, to: '1', timestamp: '1700000200' })
    const records = [
      await system.until(system.receive(own, hello)),
      await system.until(system.receive(...text('h1', 'Hi!', { ...past, timestamp: '1700000100' }))),
    ]
    expect(records.map(({ reason, inbound, receivedAt }) => [reason, inbound, receivedAt])).toEqual([
      ['history', undefined, new Date(1_700_000_200_000)],
      ['history', undefined, new Date(1_700_000_100_000)],
    ])
    await system.until(system.receive(...text('t', 'Are you there?')))
    expect(asked.map(read)).toEqual([['P: Hi!', 'A: Hello Ana', 'P: Are you there?']])
  })
})

test('a contact of the business names its person, until it is removed', async () => {
  const { system, asked } = startAgent()
  const contact = { full_name: 'Ana Souza', phone_number: '1' }
  const sync = { type: 'contact', contact, webhook_field: 'smb_app_state_sync' }
  const named = async () =>
    (await line.collections.threads.findOne({ workspace: system.workspace }))?.contactName
  expect((await system.until(system.receive({ id: 'c1', action: 'add', ...sync }))).reason).toBe('contact')
  expect(await named()).toBe('Ana Souza')
  await system.until(system.receive({ id: 'c2', action: 'remove', ...sync }))
  expect([await named(), asked.length]).toEqual([undefined, 0])
})
