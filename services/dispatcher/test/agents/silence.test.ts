import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ModelResult } from '../../src/agents/model-client.ts'
import { unlessSilent } from '../../src/agents/turns/silence.ts'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'
import { note } from './scripted-model.ts'

const line = agentLine()
const FALLBACK = { fallbackMessage: 'We call you.' }

const refusal = (code: string): ModelResult => ({ kind: 'refused', code, reason: `It is ${code}.` })
const cutOff = (text: string): ModelResult => {
  const { turn } = modelTurn(text)
  return { kind: 'answered', turn: { ...turn, finishReason: 'length' } }
}

/** A system whose models answer so, one after the other, and which of them were asked. */
function withModels(responses: Record<string, () => ModelResult | string>, more = {}) {
  const asked: string[] = []
  const choices = Object.keys(responses).map((model) => ({ provider: 'openai' as const, model }))
  const system = line.start({
    config: FALLBACK,
    model: (_request, { model }) => {
      asked.push(model)
      return responses[model]?.() ?? 'never'
    },
    parts: { choicesOf: () => ({ kind: 'choices', choices }) },
    ...more,
  })
  return { system, asked }
}

describe('an answer that would be silence', () => {
  test.each([
    ['is empty', () => ''],
    ['is white space', () => ' \n'],
    ['is cut off', () => cutOff('I will look it up. Then')],
    ['is a refusal', () => refusal('content_refused')],
    ['is a key that is refused', () => refusal('http_401')],
    ['is a model that is gone', () => refusal('http_404')],
    ['is a quota that is spent', () => refusal('quota_spent')],
    ['is a context that is too long', () => refusal('http_400')],
  ])('because it %s is asked for from the next fallback at once', async (why, answer) => {
    const { system, asked } = withModels({ one: answer, two: () => 'Here I am.' })
    system.publish(why)
    expect(await system.until(why)).toMatchObject({ state: 'delivered', turns: [{ text: 'Here I am.' }] })
    expect(asked).toEqual(['one', 'two'])
    expect(system.sent.map(({ text }) => text)).toEqual(['Here I am.'])
  })

  test.each([
    ['empty', () => '', 'empty_answer', 3],
    ['cut off', () => cutOff('I can off'), 'cut_off', 2],
    ['a refusal', () => refusal('http_401'), 'http_401', 2],
  ])('from all models (%s) gets the person the fallback message, soon', async (why, answer, code, tries) => {
    const { system, asked } = withModels({ one: answer, two: answer })
    system.publish(why)
    const record = await system.until(why)
    expect([record.state, record.fault, record.attempts[0]]).toMatchObject([
      'dead',
      'channel',
      { step: 'model', outcome: 'permanent', code },
    ])
    expect(asked).toHaveLength(tries)
    expect(system.sent.map(({ text }) => text)).toEqual(['We call you.'])
  })

  test('of the only model is asked for once more, since it may be a whim', async () => {
    let asked = 0
    const { system } = withModels({ one: () => (asked++ === 0 ? '' : 'Good day.') })
    system.publish('whim')
    expect(await system.until('whim')).toMatchObject({ state: 'delivered' })
    expect(system.sent.map(({ text }) => text)).toEqual(['Good day.'])
  })

  test('is none after a tool or a turn has said something, and the message is over', async () => {
    const said = { kind: 'say' as const, content: { kind: 'text' as const, text: 'It is on its way.' } }
    const turns = [modelTurn('', [toolCall('callback')]), '']
    const { system } = withModels({ one: () => turns.shift() ?? 'never' }, { open: () => said })
    system.publish('notified')
    expect((await system.until('notified')).turns).toHaveLength(2)
    expect(system.sent.map(({ text }) => text)).toEqual(['It is on its way.'])
  })

  test('is one after a tool that said nothing', async () => {
    const turns = [modelTurn('', [toolCall('note')]), '', '']
    const { system } = withModels({ one: () => turns.shift() ?? 'never' }, { open: () => note() })
    system.publish('untold')
    expect(await system.until('untold')).toMatchObject({
      state: 'dead',
      reason: 'The model answered nothing.',
    })
    expect(system.sent.map(({ text }) => text)).toEqual(['We call you.'])
  })

  test('counts what it has taken', async () => {
    const responses = ['', 'Good day.']
    const { system } = withModels({ one: () => responses.shift() ?? 'never' })
    system.publish('counted')
    const { turns } = await system.until('counted')
    expect(turns).toHaveLength(1)
  })

  test('from all models gives the thread to a person where the channel says so, once, with the reason', async () => {
    const handedOff: string[] = []
    const notified: string[] = []
    const { system } = withModels(
      { one: () => refusal('http_401') },
      {
        config: { ...FALLBACK, handOffOnFailure: true },
        parts: {
          choicesOf: () => ({ kind: 'choices', choices: [{ provider: 'openai', model: 'one' }] }),
          handOff: async ({ reason }: { reason: string }) => void handedOff.push(reason),
          notifyHandOff: ({ id, reason }: { id: string; reason: string }) => ({
            url: 'https://shop.example/',
            deliver: async () => {
              notified.push(`${id} ${reason}`)
              return { kind: 'accepted', delivered: true }
            },
          }),
        },
      },
    )
    system.publish('given')
    expect(await system.until('given')).toMatchObject({ state: 'dead', reason: 'It is http_401.' })
    expect(system.sent.map(({ text }) => text)).toEqual(['We call you.'])
    expect([handedOff, notified]).toEqual([['It is http_401.'], ['given:unanswered It is http_401.']])
  })

  test('of a message whose assistant has no model gets the person the fallback message', async () => {
    const missing = { kind: 'missing', reason: 'No model.' } as const
    const { system } = withModels(
      { one: () => 'never' },
      { parts: { choicesOf: () => missing }, options: { now: () => Date.now() + 11_000 } },
    )
    system.publish('nobody')
    expect(await system.until('nobody')).toMatchObject({ state: 'dead', reason: 'No model.' })
    expect(system.sent.map(({ text }) => text)).toEqual(['We call you.'])
  })
})

test('while one model is down for now, what another refuses does not end the message', async () => {
  let isDown = true
  const { system, asked } = withModels({
    one: () => (isDown ? { kind: 'retryable', code: 'http_503', reason: 'Down.' } : 'Up again.'),
    two: () => {
      isDown = false
      return refusal('http_401')
    },
  })
  system.publish('down')
  expect(await system.until('down')).toMatchObject({ state: 'delivered' })
  expect(asked).toEqual(['one', 'one', 'one', 'two', 'one'])
})

describe('what is cut off by the limit of tokens', () => {
  const endOf = (text: string) => {
    const result = unlessSilent(cutOff(text), { isSpoken: false, isLast: true })
    return result.kind === 'answered' ? result.turn.text : result.code
  }

  test.each([
    ['It left today. It will arr', 'It left today.'],
    ['It left! "Soon it is there." And th', 'It left! "Soon it is there."'],
    ['It costs R$ 50. That is', 'It costs R$ 50.'],
    ['It left. It costs 3.', 'It left.'],
    ['Dois dias:\n- segunda\n- terça\n- qua', 'Dois dias:\n- segunda\n- terça'],
    ['Choose:\n1. small\n2. lar', 'Choose:\n1. small'],
    ['到了。明天', '到了。'],
    ['It left today.', 'It left today.'],
    ['I can off', 'cut_off'],
    ['', 'cut_off'],
  ])('%j of the last model ends at its last sentence', (text, end) => {
    expect(endOf(text)).toBe(end)
  })

  test('is a beginning of what the model wrote, never blank', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '1', '.', ' ', '\n', '!', '"', '。') }), (text) => {
        const end = endOf(text)
        expect(end === 'cut_off' || (text.startsWith(end) && end.trim() !== '')).toBe(true)
      }),
    )
  })
})
