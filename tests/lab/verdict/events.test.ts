import { expect, test } from '@jest/globals'
import { type Arrived, accountVersions, judgeEvents } from './events.ts'

const event = (id: string, type: string, record: string, sequence?: number): Arrived => ({
  ...{ id, type: `message.${type}`, record },
  ...(sequence === undefined ? {} : { line: 't', sequence }),
})
const clean = { lost: 0, renamed: 0, misplaced: 0, repeated: 0 }
const judge = (arrived: Arrived[], retried: string[] = []) =>
  judgeEvents({ expected: ['message.received m', 'message.sent m'], arrived, retried: new Set(retried) })

test('events that came once in order are as they should be', () => {
  expect(judge([event('1', 'received', 'm'), event('2', 'sent', 'm')])).toEqual(clean)
})

test('an event that never came is lost, one of another id is renamed, a repeat is allowed', () => {
  const [received, other] = [event('1', 'received', 'm'), event('3', 'received', 'm')]
  expect(judge([received])).toEqual({ ...clean, lost: 1 })
  expect(judge([received, other, event('2', 'sent', 'm')])).toEqual({ ...clean, renamed: 1 })
  expect(judge([received, event('2', 'sent', 'm'), received])).toEqual({ ...clean, repeated: 1 })
})

test('an event before one that it follows is misplaced, unless it was retried', () => {
  const swapped = [event('2', 'sent', 'm'), event('1', 'received', 'm')]
  expect(judge(swapped)).toEqual({ ...clean, misplaced: 1 })
  expect(judge(swapped, ['1'])).toEqual(clean)
})

test('the messages of a thread are received in order', () => {
  const two = [event('1', 'received', 'm', 1), event('2', 'sent', 'm', 1), event('3', 'received', 'n', 0)]
  expect(judge(two)).toEqual({ ...clean, misplaced: 1 })
})

test.each([
  ['each once, in order', ['1/1', '1/2', '2/1'], {}],
  ['one lost', ['1/1', '2/1'], { lost: 1 }],
  ['one again', ['1/1', '1/2', '1/1', '2/1'], { repeated: 1 }],
  ['two swapped', ['1/2', '1/1', '2/1'], { misplaced: 2 }],
  ['one that no document has', ['1/1', '1/2', '2/1', '2/2'], { invented: 1 }],
])('events of versions, %s', (_what, told, expected) => {
  const events = told.map((text) => {
    const [id = 0, version = 0] = text.split('/').map(Number)
    return { id, version, text }
  })
  const versions = new Map([
    [1, 2],
    [2, 1],
  ])
  const none = { lost: 0, invented: 0, misplaced: 0, repeated: 0 }
  expect(accountVersions(events, versions)).toEqual({ ...none, ...expected })
})
