import { describe, expect, test } from '@jest/globals'
import { threadOf, webhookMessage } from '@parley/shared/message'
import { PARTITIONS, partitionOf } from '@parley/shared/messaging/topology'

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

describe('the partition of a thread', () => {
  test.each([
    [1, 'thread-1', 4],
    [1, 'thread-2', 7],
    [2, 'thread-1', 6],
    [7, '5511999998888', 3],
    [7, 'João 🎉', 0],
    [7, '', 2],
  ])('of workspace %i and %j is the same in every version', (workspace, thread, partition) => {
    expect(partitionOf(workspace, thread)).toBe(partition)
  })

  test('stays the same, and threads spread over all partitions', () => {
    const counts = new Array<number>(PARTITIONS).fill(0)
    for (let thread = 0; thread < 8_000; thread++) {
      const partition = partitionOf(1, `thread-${thread}`)
      expect(partitionOf(1, `thread-${thread}`)).toBe(partition)
      counts[partition] = (counts[partition] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(850)
    expect(Math.max(...counts)).toBeLessThan(1_150)
  })
})
