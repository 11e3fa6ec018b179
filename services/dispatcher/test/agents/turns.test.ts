import { describe, expect, test } from '@jest/globals'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn, toolCall } from './agent-system.ts'
import { note, script } from './scripted-model.ts'

const line = agentLine()
const REFUSED = { kind: 'permanent', code: 'x', fault: 'channel', reason: 'no' } as const

describe('a message on the channel of an agent', () => {
  test('is answered by the model, whose answer is stored before it leaves', async () => {
    const { model, requests } = script('Hello!')
    const stored: unknown[] = []
    const system = line.start({
      model,
      send: async ({ messageId }) => {
        stored.push((await system.stored(messageId))?.turns?.map(({ text }) => text))
        return { kind: 'accepted', delivered: true }
      },
    })
    system.publish('hi')
    const record = await system.until('hi')
    expect([record.state, record.timeline.map(({ state }) => state)]).toEqual([
      'delivered',
      ['received', 'handled', 'sending', 'delivered'],
    ])
    expect(system.sent).toEqual([{ id: 'hi:0', text: 'Hello!' }])
    expect(stored).toEqual([['Hello!']])
    expect(record.turns).toMatchObject([{ provider: 'openai', inputTokens: 10, text: 'Hello!', calls: [] }])
    expect(requests).toMatchObject([
      {
        system: 'Ana',
        conversation: [
          { role: 'data', json: '{"now":"then"}' },
          { role: 'person', text: 'hi' },
        ],
        tools: [{ name: 'note' }],
      },
    ])
  })

  test('is worked in turns: what the model says is sent before its tools run, and it is given their results', async () => {
    const { model, requests } = script(
      modelTurn('One moment.', [toolCall('note', { n: 1 }, 'a'), toolCall('note', { n: 2 }, 'b')]),
      modelTurn('', [toolCall('note', { n: 3 })]),
      'Done.',
    )
    const happened: string[] = []
    const system = line.start({
      model,
      send: ({ id }) => {
        happened.push(`send ${id}`)
        return { kind: 'accepted', delivered: true }
      },
      open: ({ args }) => ({
        kind: 'call',
        deliver: async (id) => {
          happened.push(`call ${id} ${args}`)
          return { kind: 'answered', result: { state: 'done', status: 200, text: `ok ${args}` } }
        },
      }),
    })
    system.publish('turns')
    const record = await system.until('turns')
    expect(happened).toEqual([
      'send turns:0',
      'call turns:1 {"n":1}',
      'call turns:2 {"n":2}',
      'call turns:3 {"n":3}',
      'send turns:4',
    ])
    expect([record.state, record.turns?.length]).toEqual(['delivered', 3])
    expect(requests[1]?.conversation.at(-1)).toMatchObject({
      role: 'assistant',
      text: 'One moment.',
      calls: [{ id: 'a', result: { state: 'done', text: 'ok {"n":1}' } }, { id: 'b' }],
    })
  })

  test('is answered in as many sends as its text needs, in order, before its calls', async () => {
    const { model, requests } = script(modelTurn('One two.\n\nThree four.', [toolCall('note')]), 'Done.')
    const system = line.start({ model, maxText: 12, open: () => note() })
    system.publish('long')
    const record = await system.until('long')
    expect(system.sent).toEqual([
      { id: 'long:0', text: 'One two.' },
      { id: 'long:1', text: 'Three four.' },
      { id: 'long:3', text: 'Done.' },
    ])
    expect([record.state, record.sends.map(({ of }) => of)]).toEqual([
      'delivered',
      [{ turn: 0 }, { turn: 0 }, { turn: 0, call: 0 }, { turn: 1 }],
    ])
    expect(requests[1]?.conversation.at(-1)).toMatchObject({ text: 'One two.\n\nThree four.' })
  })

  test.each([
    ['in the markup of its provider', {}, '*Your order*\n\n*Total:* R$ 50 ~60~'],
    ['as it is, where the channel says so', { markup: 'asIs' }, '## Your order\n\n**Total:** R$ 50 ~~60~~'],
  ])(
    'gets what the model writes as Markdown %s, and the model reads what it wrote',
    async (_name, config, sent) => {
      const text = '## Your order\n\n**Total:** R$ 50 ~~60~~'
      const { model, requests } = script(modelTurn(text, [toolCall('note')]), 'Done.')
      const system = line.start({ model, config, callback: 'whatsapp', open: () => note() })
      system.publish(`markup ${sent}`)
      await system.until(`markup ${sent}`)
      expect(system.sent[0]?.text).toBe(sent)
      expect(requests[1]?.conversation.at(-1)).toMatchObject({ text })
    },
  )

  test('at a bound is told so in as many sends as the fallback message needs', async () => {
    const config = { maxTurns: 1, fallbackMessage: 'Sorry, later.' }
    const system = line.start({ config, maxText: 8, model: () => modelTurn('', [toolCall('note')]) })
    system.publish('fallback')
    await system.until('fallback')
    expect(system.sent).toEqual([
      { id: 'fallback:1', text: 'Sorry,' },
      { id: 'fallback:2', text: 'later.' },
    ])
  })

  test.each([
    ['what the model gives for that', { message: 'Bob takes over.' }, '', ['Bob takes over.']],
    ['what the channel says', {}, '', ['A colleague will write.']],
    ['nothing more where the model has said something', {}, 'One moment.', ['One moment.']],
    [
      'both where the model gives both',
      { message: 'Bob takes over.' },
      'One moment.',
      ['One moment.', 'Bob takes over.'],
    ],
  ])('that is handed over gets %s, before the thread is a person’s', async (what, args, text, sent) => {
    let sentBefore: string[] = []
    const system: ReturnType<typeof line.start> = line.start({
      config: { handOffMessage: 'A colleague will write.' },
      model: () => modelTurn(text, [toolCall('handOff', { reason: 'asked', ...args })]),
      open: () => ({ kind: 'handOff', reason: 'asked' }),
      parts: {
        handOff: async () => {
          sentBefore = system.sent.map((one) => one.text)
        },
      },
    })
    system.publish(what)
    expect(await system.until(what)).toMatchObject({ reason: 'handed_off' })
    expect(sentBefore).toEqual(sent)
    expect(system.sent.map((one) => one.text)).toEqual(sent)
  })

  test('that carries its answer needs no model', async () => {
    const system = line.start({ model: () => 'never asked' })
    system.publish('templated', { answer: { message: 'Your order left.' } })
    expect(await system.until('templated')).not.toHaveProperty('turns')
    expect(system.sent).toEqual([{ id: 'templated:0', text: 'Your order left.' }])
  })

  test('is answered in order with the others of its thread, while other threads go on', async () => {
    const release = Promise.withResolvers<string>()
    const system = line.start({
      model: (request) => (lastSaid(request) === 'slow' ? release.promise : 'quick'),
    })
    system.publish('slow', { thread: 'a' })
    system.publish('behind', { thread: 'a' })
    system.publish('beside', { thread: 'b' })
    await system.until('beside')
    release.resolve('slow answer')
    await system.until('behind')
    expect(system.sent.map(({ id }) => id)).toEqual(['beside:0', 'slow:0', 'behind:0'])
  })
})

describe('a message that is run again', () => {
  test('asks the model that refused once more', async () => {
    let mended = false
    const system = line.start({
      model: () => (mended ? 'Now.' : { kind: 'refused', code: 'http_401', reason: 'Invalid key.' }),
    })
    system.publish('mended')
    await system.until('mended')
    mended = true
    await system.replay('mended')
    const record = await system.until('mended', ({ state }) => state === 'delivered')
    expect([record.reason, record.turns?.length, system.sent.length]).toEqual([undefined, 1, 1])
  })

  test('sends and calls nothing more when a person took its thread meanwhile', async () => {
    let isMended = false
    const calls: string[] = []
    const system = line.start({
      model: () => modelTurn('Let me see.', [toolCall('note')]),
      open: ({ tool }) => {
        calls.push(tool)
        return note()
      },
      send: () => (isMended ? { kind: 'accepted', delivered: true } : REFUSED),
      options: { threads: { isWithPerson: async () => isMended, isOutsideWindow: async () => false } },
    })
    system.publish('taken-meanwhile')
    await system.until('taken-meanwhile')
    isMended = true
    await system.replay('taken-meanwhile')
    const record = await system.until('taken-meanwhile', ({ state }) => state === 'done')
    expect([record.reason, system.sent, calls]).toEqual(['handler_is_person', [], []])
  })

  test('of which only the hand-over to a person was not told is told, though the thread is theirs', async () => {
    let isMended = false
    let isWithPerson = false
    const system = line.start({
      model: () => modelTurn('', [toolCall('handOff')]),
      open: () => ({ kind: 'handOff', reason: 'angry' }),
      parts: {
        handOff: async () => {
          isWithPerson = true
        },
        notifyHandOff: () => ({
          url: 'https://help.example',
          deliver: async () => (isMended ? { kind: 'accepted', delivered: true } : REFUSED),
        }),
      },
      options: { threads: { isWithPerson: async () => isWithPerson, isOutsideWindow: async () => false } },
    })
    system.publish('handed')
    const { sends, timeline } = await system.until('handed')
    // As it ends where nothing could be told, because of a fault of ours.
    await line.collections.messages.updateOne(
      { _id: 'handed' },
      {
        $set: {
          state: 'dead',
          sends: sends.map((send) => ({ ...send, state: 'pending' as const })),
          timeline,
        },
        $unset: { ending: 1, 'turns.0.calls.0.result': 1 },
      },
    )
    isMended = true
    await system.replay('handed')
    const record = await system.until('handed', ({ state }) => state === 'done')
    expect([record.reason, record.sends[0]?.state]).toEqual(['handed_off', 'delivered'])
  })

  test('is answered by the handler that its channel has by then, where no model had answered', async () => {
    let handlerUrl = 'native:agents/chat'
    const system = line.start({
      model: () => ({ kind: 'refused', code: 'http_401', reason: 'Invalid key.' }),
      options: {
        channels: {
          find: async (workspace) => ({
            _id: 1,
            workspace,
            hook: 'rpc',
            callback: 'rpc',
            handlerUrl,
            config: {},
          }),
        },
        handle: async () => ({ kind: 'answer', answer: { message: 'From a handler.' } }),
      },
    })
    system.publish('rehandled')
    await system.until('rehandled')
    handlerUrl = 'native:agents/echo'
    await system.replay('rehandled')
    expect(await system.until('rehandled', ({ state }) => state === 'delivered')).not.toHaveProperty('turns')
    expect(system.sent).toEqual([{ id: 'rehandled:0', text: 'From a handler.' }])
  })

  test('goes on after its last turn, and repeats neither sends nor calls', async () => {
    let mended = false
    let calls = 0
    const requests: ModelRequest[] = []
    const system = line.start({
      config: { maxTurns: 1, fallbackMessage: 'Sorry.' },
      model: (request) => {
        requests.push(request)
        return mended ? 'There it is.' : modelTurn('Let me see.', [toolCall('note'), toolCall('broken')])
      },
      open: ({ tool }) => {
        calls++
        return tool === 'note' ? note() : { kind: 'invalid', reason: 'broken' }
      },
    })
    system.publish('replayed')
    await system.until('replayed')
    mended = true
    await system.replay('replayed')
    const record = await system.until('replayed', ({ state }) => state === 'delivered')
    expect(system.sent.map(({ text }) => text)).toEqual(['Let me see.', 'Sorry.', 'There it is.'])
    expect([calls, requests.length, record.turns?.length]).toEqual([2, 2, 2])
    expect(record.sends.map(({ id }) => id)).toEqual(record.sends.map((_, at) => `replayed:${at}`))
  })
})
