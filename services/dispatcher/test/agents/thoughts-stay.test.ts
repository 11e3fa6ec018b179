import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { personTools } from '../../src/agents/tools/person-tools.ts'
import { type ModelWorld, startModelWorld } from './model-world.ts'

const SECRET = 'the margin is 40%'

let world: ModelWorld
beforeAll(async () => {
  world = await startModelWorld()
})
afterAll(() => world.close())
beforeEach(() => world.script())

const shapes = [
  `<think>\n${SECRET}\n</think>\n\nI can offer 5% off.`,
  `<THINKING budget="3">${SECRET}</THINKING>I can offer 5% off.`,
  `${SECRET}\n</think>\n\nI can offer 5% off.`,
  `I can offer 5% off.\n\n<think>${SECRET}`,
  `<think>${SECRET}<think>x</think>${SECRET}</think>I can <think>${SECRET}</think>offer 5% off.`,
  `[THINK]${SECRET}[/THINK]I can offer 5% off.`,
  `<|channel|>analysis<|message|>${SECRET}<|end|><|start|>assistant<|channel|>final<|message|>I can offer 5% off.`,
]

describe.each(shapes)('what a model thinks in %j', (said) => {
  test('is not in its whole answer', async () => {
    await world.script({ text: said })
    expect(await world.ask()).toMatchObject({ kind: 'answered', turn: { text: 'I can offer 5% off.' } })
  })

  test('is neither in its stream nor in what is kept of that', async () => {
    await world.script({ text: said })
    const deltas: string[] = []
    const result = await world.ask({ onDelta: (text) => deltas.push(text) })
    expect(result).toMatchObject({ kind: 'answered', turn: { text: 'I can offer 5% off.' } })
    expect(deltas.join('')).toBe('I can offer 5% off.')
  })

  test('is not in the history of a later call', async () => {
    await world.script({ text: 'ok' })
    await world.ask({
      conversation: [
        { role: 'person', text: 'How much?' },
        { role: 'assistant', text: said, calls: [] },
        { role: 'person', text: 'And now?' },
      ],
    })
    const [request] = await world.requests()
    expect(JSON.stringify(request)).not.toContain(SECRET)
    expect(JSON.stringify(request)).toContain('I can offer 5% off.')
  })

  test('is not in what it has said before it is done', async () => {
    const callback = personTools({ callback: 'rpc', config: {} }).find(({ name }) => name === 'callback')
    expect(await callback?.open({ message: said })).toEqual({
      kind: 'say',
      content: { kind: 'text', text: 'I can offer 5% off.' },
    })
  })
})

test.each([{}, { onDelta: () => {} }])('an answer that is a thought alone is empty', async (manner) => {
  await world.script({ text: `<think>${SECRET}</think>\n` })
  expect(await world.ask(manner)).toMatchObject({ kind: 'answered', turn: { text: '' } })
})

test('what a person writes of a mark reaches the model', async () => {
  await world.script({ text: 'ok' })
  await world.ask({ conversation: [{ role: 'person', text: 'What does <think> mean?' }] })
  expect(JSON.stringify(await world.requests())).toContain('What does <think> mean?')
})
