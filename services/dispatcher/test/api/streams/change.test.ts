import { describe, expect, test } from '@jest/globals'
import { mongo } from 'mongoose'
import { summaryOf } from '../../../src/api/messages/view.ts'
import { messageEvents } from '../../../src/api/streams/change.ts'
import {
  idOf,
  keyAfter,
  keyOfChange,
  markOf,
  positionIn,
  seenOf,
  timeOf,
} from '../../../src/api/streams/position.ts'
import type { Attempt, MessageState, TimelineEntry } from '../../../src/message/message-record.ts'
import { replayed } from '../../../src/message/progress.ts'
import { newRecord } from '../../new-record.ts'

const entry = (state: MessageState, second = 0): TimelineEntry => ({ at: new Date(second * 1_000), state })
const written = (change: object) => ({ ...newRecord(change) }) as unknown as Record<string, unknown>
const namesOf = (events: ReturnType<typeof messageEvents>) =>
  events.map(({ event, data }) => `${event} ${JSON.parse(data).state}`)

describe('the events of a write to a message', () => {
  test('that is new are the message and each state that it has passed already', () => {
    const timeline = [entry('received'), entry('handled'), entry('sent')]
    const fullDocument = written({ state: 'sent', timeline })
    expect(namesOf(messageEvents({ operationType: 'insert', fullDocument }))).toEqual([
      'message sent',
      'state received',
      'state handled',
      'state sent',
    ])
  })

  test('that is new and waits already say what it waits for, as the list does', () => {
    const attempts: Attempt[] = [
      { at: new Date(1_000), step: 'handler', outcome: 'retryable', code: 'http_500', error: 'Busy.', ms: 5 },
      { at: new Date(2_000), step: 'm:0', outcome: 'accepted', ms: 5 },
    ]
    const record = newRecord({ open: true, due: new Date(9_000), waitingFor: 'retry' })
    const { attempts: _attempts, sends: _sends, ...read } = record
    const [event] = messageEvents({ operationType: 'insert', fullDocument: { ...read }, attempts })
    expect(JSON.parse(event?.data ?? '')).toEqual(
      JSON.parse(JSON.stringify(summaryOf({ ...record, attempts }))),
    )
    expect(JSON.parse(event?.data ?? '').waiting).toMatchObject({ for: 'retry', code: 'http_500' })
  })

  test('that is updated are the states that were added, also several at once, and nothing else', () => {
    const fullDocument = written({ state: 'delivered', timeline: [entry('received'), entry('delivered')] })
    const update = (...passed: { k: string; v: TimelineEntry }[]) =>
      namesOf(messageEvents({ operationType: 'update', fullDocument, passed }))
    expect(update({ k: 'timeline.1', v: entry('handled') })).toEqual(['state handled'])
    expect(
      update({ k: 'timeline.10', v: entry('delivered') }, { k: 'timeline.9', v: entry('sent') }),
    ).toEqual(['state sent', 'state delivered'])
    expect(update()).toEqual([])
  })

  test('that is run again are its states from then on, not those before', () => {
    const before = newRecord({
      state: 'dead',
      timeline: [entry('received'), entry('handled'), entry('dead')],
    })
    const once = replayed(before, { at: new Date(9_000), partition: 0, order: 2 })
    const twice = replayed({ ...once, state: 'dead' }, { at: new Date(10_000), partition: 0, order: 3 })
    for (const record of [once, twice]) {
      const events = messageEvents({ operationType: 'replace', fullDocument: written(record) })
      expect(namesOf(events)).toEqual(['state received'])
      expect(JSON.parse(events[0]?.data ?? '').at).toBe(record.updatedAt.toISOString())
    }
  })

  test('whose timeline was full end with its last state', () => {
    const passed = Array.from({ length: 49 }, (_, at) => ({
      k: `timeline.${at + 1}`,
      v: entry(at === 48 ? 'dead' : 'handled', at),
    }))
    const events = messageEvents({ operationType: 'update', fullDocument: written({}), passed })
    expect(namesOf(events)).toEqual(['state dead'])
  })

  test('name message, thread, channel, state, time and reason, and no contents', () => {
    const fullDocument = written({ body: 'secret', answer: 'secret' })
    const v = { ...entry('dead'), reason: 'It was refused.' }
    const [event] = messageEvents({ operationType: 'update', fullDocument, passed: [{ k: 'timeline.3', v }] })
    expect(JSON.parse(event?.data ?? '')).toEqual({
      ...{ _id: 'm', thread: 't', channel: 'c', state: 'dead' },
      ...{ reason: 'It was refused.', at: '1970-01-01T00:00:00.000Z' },
    })
  })
})

describe('the id of an event', () => {
  const time = new mongo.Timestamp({ t: 1_700_000_000, i: 7 })
  const next = new mongo.Timestamp({ t: 1_700_000_000, i: 8 })

  test('is read as it was written, and nothing else is one', () => {
    for (const position of [{ key: keyAfter(time) }, { key: keyOfChange(time, '82AB'), seen: 2 }])
      expect(positionIn(idOf(position))).toEqual(position)
    expect(timeOf(keyAfter(time)).equals(time)).toBe(true)
    for (const id of [
      '',
      '0',
      'x'.repeat(16),
      `${keyAfter(time)}~`,
      `${'0'.repeat(16)}.`,
      `${'0'.repeat(16)}~!1234`,
    ])
      expect(positionIn(id)).toBeUndefined()
  })

  test('orders changes by time and token, and says how many events of a change were seen', () => {
    const [first, second, third] = [
      keyOfChange(time, '82AB'),
      keyOfChange(time, '82AC'),
      keyOfChange(next, '8200'),
    ]
    expect([third, keyAfter(time), second, first].toSorted()).toEqual([first, second, keyAfter(time), third])
    expect(seenOf({ key: second }, first)).toBe(Number.POSITIVE_INFINITY)
    expect(seenOf({ key: second }, second)).toBe(Number.POSITIVE_INFINITY)
    expect(seenOf({ key: second, seen: 2 }, second)).toBe(2)
    expect(seenOf({ key: second }, third)).toBe(0)
  })

  test('of a place between changes names no document, and lies before the change', () => {
    const change = keyOfChange(next, '82AB')
    expect(markOf(change)).toBe(keyAfter(time))
    expect(markOf(keyAfter(time))).toBe(keyAfter(time))
  })
})
