import { describe, expect, test } from '@jest/globals'
import { hasAnswer, planSends } from '@parley/dispatcher/message/plan'

const template = { name: 'callback', args: { template: 'welcome', variables: ['Ana'], language: 'pt_BR' } }

describe('hasAnswer', () => {
  test.each([
    ['text', { message: 'Hi' }, true],
    ['functions', { functions: [{}] }, true],
    ['a submission', { submit: { ok: true } }, true],
    ['nothing', {}, false],
    ['empty parts', { message: '', functions: [], submit: {} }, false],
    ['nulls', { message: null, functions: null, submit: null }, false],
  ])('%s', (_name, answer, expected) => {
    expect(hasAnswer(answer)).toBe(expected)
  })
})

describe('planSends', () => {
  test('sends templates in order, then the text, each under an id of its own', () => {
    const second = { name: 'callback', args: { template: 'bye', language: 'en' } }
    expect(planSends({ _id: 'm1', source: 'api' }, { functions: [template, second], message: 'Hi' })).toEqual(
      [
        {
          id: 'm1:0',
          state: 'pending',
          content: { kind: 'template', template: 'welcome', language: 'pt_BR', variables: ['Ana'] },
        },
        {
          id: 'm1:1',
          state: 'pending',
          content: { kind: 'template', template: 'bye', language: 'en', variables: [] },
        },
        { id: 'm1:2', state: 'pending', content: { kind: 'text', text: 'Hi' } },
      ],
    )
  })

  test("an action's function is named by its place, and what is submitted comes last", () => {
    const answer = {
      functions: [{ name: 'refund', args: { id: 1 } }, template],
      message: 'Hi',
      submit: { ok: true },
    }
    expect(planSends({ _id: 'm1', source: 'api' }, answer).map(({ content }) => content)).toEqual([
      { kind: 'function', name: 'refund', position: 0 },
      { kind: 'template', template: 'welcome', language: 'pt_BR', variables: ['Ana'] },
      { kind: 'text', text: 'Hi' },
      { kind: 'submit' },
    ])
  })

  test('an answer with nothing in it sends nothing', () => {
    expect(planSends({ _id: 'm1', source: 'api' }, { message: '', functions: [], submit: {} })).toEqual([])
  })
})
