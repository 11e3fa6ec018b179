import { describe, expect, test } from '@jest/globals'
import { hasAnswer, planSends } from '@parley/dispatcher/plan'

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
    expect(planSends('m1', { functions: [template, second], message: 'Hi' })).toEqual({
      kind: 'sends',
      sends: [
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
    })
  })

  test('an answer with nothing to send sends nothing', () => {
    expect(planSends('m1', { submit: { ok: true } })).toEqual({ kind: 'sends', sends: [] })
  })

  test('a function that nobody knows is named, and nothing is sent', () => {
    expect(planSends('m1', { functions: [template, { name: 'refund', args: {} }], message: 'Hi' })).toEqual({
      kind: 'dead',
      fault: 'channel',
      reason: 'No action of the channel\'s assistant has an operation named "refund".',
    })
  })
})
