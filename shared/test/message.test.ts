import { describe, expect, test } from '@jest/globals'
import { threadOf, webhookMessage } from '@parley/shared/message'

const least = { extId: '', user: {}, thread: {}, answer: {} }

describe('a webhook message', () => {
  test.each([
    ['the least', least],
    [
      'with nulls',
      { ...least, user: { name: null, ctx: null }, answer: { functions: null, submit: null }, input: null },
    ],
    ['with unknown fields', { ...least, more: 1, user: { age: 3 }, answer: { extra: [] } }],
    [
      'with a function of its own kind',
      { ...least, answer: { functions: [{ name: 'f', args: { variables: 3 } }] } },
    ],
  ])('%s is taken', (_name, message) => {
    expect(webhookMessage.safeParse(message).success).toBe(true)
  })

  test.each([
    ['without a channel', { ...least, extId: undefined }, 'extId'],
    ['with a numeric phone', { ...least, user: { phone: 5 } }, 'user/phone'],
    ['with a context that is a list', { ...least, thread: { ctx: [] } }, 'thread/ctx'],
    ['with functions that are no list', { ...least, answer: { functions: {} } }, 'answer/functions'],
    ['with a function that is text', { ...least, answer: { functions: ['f'] } }, 'answer/functions/0'],
    [
      'with a template whose variables are numbers',
      { ...least, answer: { functions: [{ args: { template: 't', language: 'en', variables: [1] } }] } },
      'answer/functions/0/args/variables/0',
    ],
    ['with a null answer', { ...least, answer: null }, 'answer'],
  ])('%s is refused, and the place named', (_name, message, place) => {
    expect(webhookMessage.safeParse(message).error?.issues[0]?.path.join('/')).toBe(place)
  })
})

describe('the thread of a message', () => {
  test.each([
    ['is its own', { ...least, thread: { extId: 't' }, user: { phone: '1' } }, 't'],
    ["is else the user's phone", { ...least, user: { phone: '1' } }, '1'],
    ['is else the message itself', { ...least, thread: { extId: '' } }, 'm'],
  ])('%s', (_name, message, thread) => {
    expect(threadOf(message, 'm')).toBe(thread)
  })
})
