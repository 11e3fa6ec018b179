import { describe, expect, test } from '@jest/globals'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'
import { note, script } from './scripted-model.ts'

const line = agentLine()

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
    // Each has half of what is left of the turn.
    expect(timeouts.map(([model]) => model)).toEqual(['one', 'two'])
    const [one = 0, two = 0] = timeouts.map(([, timeoutMs]) => timeoutMs)
    expect([one > 0 && one <= 500, two > 0 && one + two <= 1_000]).toEqual([true, true])
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
