import { expect, test } from '@jest/globals'
import { type Arrived, judgeEvents } from './events-verdict.ts'

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
