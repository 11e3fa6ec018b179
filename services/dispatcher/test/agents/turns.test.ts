import { describe, expect, test } from '@jest/globals'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn, toolCall } from './agent-system.ts'

const line = agentLine()

/** Answers with one after the other. */
function script(...results: (ReturnType<typeof modelTurn> | string)[]) {
  const requests: ModelRequest[] = []
  const model = (request: ModelRequest) => {
    requests.push(request)
    return results[requests.length - 1] ?? 'no more'
  }
  return { model, requests }
}

const note = (status = 200, text = 'noted') => ({
  kind: 'call' as const,
  deliver: async () => ({
    kind: 'answered' as const,
    result: { state: status < 400 ? ('done' as const) : ('failed' as const), status, text },
  }),
})

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

  test('ends done when the model says nothing, and nothing is sent', async () => {
    const system = line.start({ model: () => '  ' })
    system.publish('silent')
    expect((await system.until('silent')).state).toBe('done')
    expect(system.sent).toEqual([])
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

describe('a call of a tool', () => {
  test('that fails does not end the message: the model is given status and body', async () => {
    const { model } = script(modelTurn('', [toolCall('note')]), 'It did not work.')
    const system = line.start({ model, open: () => note(503, 'out of order') })
    system.publish('fails')
    const record = await system.until('fails')
    expect(record.turns?.[0]?.calls[0]?.result).toEqual({
      state: 'failed',
      status: 503,
      text: 'out of order',
    })
    expect([record.state, system.sent]).toEqual(['delivered', [{ id: 'fails:1', text: 'It did not work.' }]])
  })

  test('that can not be made is given back to the model as an error, and the next one is made', async () => {
    const { model, requests } = script(
      modelTurn('', [toolCall('magic', {}, 'x'), toolCall('note', {}, 'y')]),
      'Well.',
    )
    const system = line.start({
      model,
      open: ({ tool }) => (tool === 'note' ? note() : { kind: 'invalid', reason: `There is no ${tool}.` }),
    })
    system.publish('invalid')
    await system.until('invalid')
    expect(requests[1]?.conversation.at(-1)).toMatchObject({
      calls: [
        { tool: 'magic', result: { state: 'failed', text: 'There is no magic.' } },
        { tool: 'note', result: { state: 'done', text: 'noted' } },
      ],
    })
  })

  test('that does not come through is tried again under the same id', async () => {
    const ids: string[] = []
    const { model } = script(modelTurn('', [toolCall('note')]), 'Done.')
    const system = line.start({
      model,
      open: () => ({
        kind: 'call',
        deliver: async (id) => {
          ids.push(id)
          if (ids.length === 1) return { kind: 'unreached', reason: 'nobody there' }
          return { kind: 'answered', result: { state: 'done', text: 'ok' } }
        },
      }),
    })
    system.publish('again')
    const record = await system.until('again')
    expect([ids, record.attempts[0]]).toMatchObject([
      ['again:0', 'again:0'],
      { step: 'again:0', outcome: 'retryable', code: 'not_reached' },
    ])
  })

  test('that says something sends it to the person, as a text or a template', async () => {
    const { model, requests } = script(
      modelTurn('', [toolCall('callback', {}, 'x'), toolCall('template', {}, 'y')]),
      'Bye.',
    )
    const system = line.start({
      model,
      open: ({ tool }) => ({
        kind: 'say',
        content:
          tool === 'callback'
            ? { kind: 'text', text: 'Working on it.' }
            : { kind: 'template', template: 'receipt', language: 'en', variables: [] },
      }),
    })
    system.publish('says')
    const record = await system.until('says')
    expect(system.sent.map(({ text }) => text)).toEqual(['Working on it.', 'receipt', 'Bye.'])
    expect(record.sends.map(({ content, state }) => [content.kind, state])).toEqual([
      ['text', 'delivered'],
      ['template', 'delivered'],
      ['text', 'delivered'],
    ])
    expect(requests[1]?.conversation.at(-1)).toMatchObject({
      calls: [{ result: { state: 'done' } }, { result: { state: 'done' } }],
    })
  })

  test('whose words the provider refuses has failed, and does not count as sent', async () => {
    const { model } = script(modelTurn('', [toolCall('callback')]), 'Bye.')
    const system = line.start({
      model,
      open: () => ({ kind: 'say', content: { kind: 'text', text: 'refused' } }),
      send: ({ content }) =>
        content.kind === 'text' && content.text === 'refused'
          ? { kind: 'permanent', code: '131000', fault: 'provider', reason: 'No such template.' }
          : { kind: 'accepted', delivered: true },
    })
    system.publish('refused')
    const record = await system.until('refused')
    expect(record.turns?.[0]?.calls[0]?.result).toEqual({ state: 'failed', text: 'No such template.' })
    expect([record.state, record.sends.map(({ content }) => content.kind)]).toEqual([
      'delivered',
      ['tool', 'text'],
    ])
  })

  test('whose result is longer than 16 KiB is cut, and says so', async () => {
    const { model } = script(modelTurn('', [toolCall('note')]), 'Long.')
    const system = line.start({ model, open: () => note(200, 'é'.repeat(20_000)) })
    system.publish('long')
    const result = (await system.until('long')).turns?.[0]?.calls[0]?.result
    expect([Buffer.byteLength(result?.text ?? ''), result?.cut]).toEqual([16 * 1024, true])
  })

  test('beyond the fiftieth of a turn, or with far too long arguments, is not made', async () => {
    const calls = Array.from({ length: 60 }, (_, n) => toolCall('note', {}, n < 2 ? 'same' : `n${n}`))
    const long = toolCall('note', { text: 'x'.repeat(100_000) }, 'long')
    const { model } = script(modelTurn('', [long, ...calls]), 'Many.')
    let made = 0
    const system = line.start({
      model,
      open: () => {
        made++
        return note()
      },
    })
    system.publish('many')
    const stored = (await system.until('many')).turns?.[0]?.calls ?? []
    expect([made, stored.length, new Set(stored.map(({ id }) => id)).size]).toEqual([49, 50, 50])
    expect(stored[0]).toMatchObject({ args: '{}', result: { state: 'failed' } })
  })
})

describe('a hand-off', () => {
  test('ends the work: a person takes over, the channel is told, and nothing further is called', async () => {
    const { model, requests } = script(
      modelTurn('I get somebody.', [toolCall('handOff', {}, 'x'), toolCall('note', {}, 'y')]),
    )
    const notified: unknown[] = []
    const system = line.start({
      model,
      open: ({ tool }) => (tool === 'note' ? note() : { kind: 'handOff', reason: 'angry' }),
      parts: {
        handOff: async ({ record, reason }) => void notified.push([record._id, reason]),
        notifyHandOff: ({ id, reason }) => ({
          url: 'http://there.example/hook',
          deliver: async () => {
            notified.push([id, reason])
            return { kind: 'accepted', delivered: true }
          },
        }),
      },
    })
    system.publish('off')
    const record = await system.until('off')
    expect([record.state, record.reason, notified, requests.length]).toEqual([
      'done',
      'handed_off',
      [
        ['off', 'angry'],
        ['off:1', 'angry'],
      ],
      1,
    ])
    expect(record.turns?.[0]?.calls.map(({ result }) => result?.state)).toEqual(['done', 'failed'])
  })

  test('without a URL to tell ends the message all the same', async () => {
    const { model } = script(modelTurn('', [toolCall('handOff')]))
    const system = line.start({ model, open: () => ({ kind: 'handOff', reason: 'asked for it' }) })
    system.publish('quiet')
    expect(await system.until('quiet')).toMatchObject({ state: 'done', reason: 'handed_off' })
  })

  test('that the URL refuses makes the message dead', async () => {
    const { model } = script(modelTurn('', [toolCall('handOff')]))
    const deliver = async () =>
      ({
        kind: 'permanent',
        code: 'http_404',
        fault: 'channel',
        reason: 'The endpoint answered 404.',
      }) as const
    const system = line.start({
      model,
      open: () => ({ kind: 'handOff', reason: 'x' }),
      parts: { notifyHandOff: () => ({ url: 'http://there.example/hook', deliver }) },
    })
    system.publish('refusing')
    expect(await system.until('refusing')).toMatchObject({ state: 'dead', fault: 'channel' })
  })
})

describe('a bound', () => {
  test('of turns ends the message: the person gets the fallback message, and it is dead with the reason', async () => {
    let asked = 0
    const system = line.start({
      config: { maxTurns: 3, fallbackMessage: 'We call you.' },
      model: () => modelTurn('', [toolCall('note', { n: asked++ })]),
      open: () => note(),
    })
    system.publish('endless')
    const record = await system.until('endless')
    expect([asked, record.state, record.fault, record.reason]).toEqual([
      3,
      'dead',
      'channel',
      expect.stringContaining('3 turns (maxTurns)'),
    ])
    expect(system.sent).toEqual([{ id: 'endless:3', text: 'We call you.' }])
  })

  test('of a turn is met when no model has answered in time, each having had its share', async () => {
    const timeouts: [string, number][] = []
    const system = line.start({
      config: { turnTimeoutSeconds: 1, fallbackMessage: 'Sorry.' },
      model: async ({ timeoutMs }, { model }) => {
        timeouts.push([model, timeoutMs])
        await new Promise((resolve) => setTimeout(resolve, timeoutMs + 5))
        return { kind: 'retryable', code: 'timeout', reason: 'Late.' }
      },
      parts: {
        choicesOf: () => ({
          kind: 'choices',
          choices: [
            { provider: 'openai', model: 'one' },
            { provider: 'google', model: 'two' },
          ],
        }),
      },
    })
    system.publish('slow-model')
    const record = await system.until('slow-model')
    expect(timeouts).toEqual([
      ['one', 500],
      ['two', 500],
    ])
    expect([record.state, record.reason, system.sent[0]?.text]).toEqual([
      'dead',
      expect.stringContaining('1 seconds (turnTimeoutSeconds)'),
      'Sorry.',
    ])
  })

  test('of the whole message is met by calls that take too long: those that have not begun are not made', async () => {
    let ahead = 0
    const { model } = script(modelTurn('', [toolCall('note', {}, 'x'), toolCall('note', {}, 'y')]))
    const system = line.start({
      config: { messageTimeoutSeconds: 60 },
      model,
      open: () => ({
        kind: 'call',
        deliver: async () => {
          ahead = 61_000
          return { kind: 'answered', result: { state: 'done', text: 'at last' } }
        },
      }),
      options: { now: () => Date.now() + ahead },
    })
    system.publish('late')
    const record = await system.until('late')
    expect([record.state, record.reason]).toEqual([
      'dead',
      expect.stringContaining('60 seconds (messageTimeoutSeconds)'),
    ])
    expect(record.turns?.[0]?.calls.map(({ result }) => result?.text)).toEqual([
      'at last',
      'This tool was not run.',
    ])
  })
})

describe('a model in trouble', () => {
  test('is asked again, then its fallbacks in order', async () => {
    const asked: string[] = []
    const system = line.start({
      model: (_request, { model }) => {
        asked.push(model)
        if (model === 'three') return 'I can.'
        return { kind: 'retryable', code: 'http_429', reason: 'Busy.', retryAfterSeconds: 0.01 }
      },
      parts: {
        choicesOf: () => ({
          kind: 'choices',
          choices: ['one', 'two', 'three'].map((model) => ({ provider: 'openai', model })),
        }),
      },
    })
    system.publish('busy')
    const record = await system.until('busy')
    expect(asked).toEqual([...Array(3).fill('one'), ...Array(3).fill('two'), 'three'])
    expect([record.state, record.tries, record.attempts[0]]).toMatchObject([
      'delivered',
      0,
      { step: 'model', outcome: 'retryable', code: 'http_429' },
    ])
  })

  test('that has not answered within the time of the message makes it dead, with the reason', async () => {
    const system = line.start({
      config: { messageTimeoutSeconds: 2, fallbackMessage: 'Sorry.' },
      model: () => ({ kind: 'retryable', code: 'http_503', reason: 'Overloaded.', retryAfterSeconds: 0.1 }),
    })
    system.publish('down')
    const record = await system.until('down')
    expect([record.state, record.fault, record.reason, system.sent[0]?.text]).toEqual([
      'dead',
      'channel',
      expect.stringMatching(/^Overloaded\..*messageTimeoutSeconds/),
      'Sorry.',
    ])
  })

  test('that refuses makes the message dead at once, with the words of the provider', async () => {
    const system = line.start({
      model: () => ({ kind: 'refused', code: 'http_401', reason: 'Invalid key.' }),
    })
    system.publish('no')
    expect(await system.until('no')).toMatchObject({
      state: 'dead',
      fault: 'channel',
      reason: 'Invalid key.',
      attempts: [{ step: 'model', outcome: 'permanent', code: 'http_401' }],
    })
  })

  test.each(['loadAgent', 'choicesOf'] as const)(
    'that is not configured (%s) makes the message dead, saying what is missing, once it is older than ten seconds',
    async (part) => {
      const missing = { kind: 'missing', reason: `Nothing for ${part}.` } as const
      const system = line.start({
        model: () => 'never asked',
        parts: { [part]: part === 'loadAgent' ? async () => missing : () => missing },
        options: { now: () => Date.now() + 11_000 },
      })
      system.publish(`without ${part}`)
      expect(await system.until(`without ${part}`)).toMatchObject({
        state: 'dead',
        fault: 'channel',
        reason: `Nothing for ${part}.`,
      })
    },
  )
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
