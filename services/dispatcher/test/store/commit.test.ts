import { beforeAll, describe, expect, test } from '@jest/globals'
import {
  advanced,
  type MessageRecord,
  type Progress,
  type Send,
} from '@parley/dispatcher/message/message-record'
import { claimed, settledSend } from '@parley/dispatcher/message/progress'
import type { Turn } from '@parley/dispatcher/message/turn'
import type { Collections } from '@parley/dispatcher/store/collections'
import { type Committer, createCommitter } from '@parley/dispatcher/store/commit'
import { mongo } from 'mongoose'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })
let messages: Collections['messages']
let committer: Committer

beforeAll(() => {
  messages = database.collections.messages
  committer = createCommitter(messages, 'us')
})

const progressTo = (change: Partial<Progress> = {}): Progress => ({
  state: 'sending',
  open: true,
  tries: 0,
  sends: [],
  timeline: [],
  attempts: [],
  ...change,
})

const textSend = (id: string, text: string): Send => ({
  id,
  content: { kind: 'text', text },
  state: 'claimed',
})

describe('commits made at once', () => {
  test('each write their own message', async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `m-${n}`)
    await messages.insertMany(ids.map((_id) => newRecord({ _id, due: new Date(), reason: 'old' })))
    const responses = await Promise.all(
      ids.map((_id) =>
        committer.commit({ _id, revision: 0 }, progressTo({ sends: [textSend(_id, `text of ${_id}`)] })),
      ),
    )
    expect(responses).toEqual(ids.map(() => true))
    for (const record of await messages.find({ _id: { $in: ids } }).toArray()) {
      expect(record).toMatchObject({ state: 'sending', open: true, revision: 1, writer: 'us' })
      expect(record.sends).toEqual([textSend(record._id, `text of ${record._id}`)])
      expect([record.due, record.reason, record.body]).toEqual([undefined, undefined, '{}'])
    }
  })

  test('leave alone what somebody else has written, and only that', async () => {
    await messages.insertMany([newRecord({ _id: 'ours' }), newRecord({ _id: 'theirs', revision: 3 })])
    const responses = await Promise.all(
      ['ours', 'theirs', 'gone'].map((_id) => committer.commit({ _id, revision: 0 }, progressTo())),
    )
    expect(responses).toEqual([true, false, false])
    expect(await messages.findOne({ _id: 'theirs' })).toEqual(newRecord({ _id: 'theirs', revision: 3 }))
  })

  test('count as made when they were, though the answer was lost', async () => {
    await messages.insertMany([
      newRecord({ _id: 'made', revision: 1, writer: 'us' }),
      newRecord({ _id: 'by-others', revision: 1, writer: 'them' }),
    ])
    const again = ['made', 'by-others'].map((_id) => committer.commit({ _id, revision: 0 }, progressTo()))
    expect(await Promise.all(again)).toEqual([true, false])
  })

  test('write every text as it is, also where it looks like an expression', async () => {
    await messages.insertOne(newRecord({ _id: '$body' }))
    const sends = [textSend('$body:0', '$$ROOT'), textSend('$body:1', '{"$literal": "$x"}')]
    expect(await committer.commit({ _id: '$body', revision: 0 }, progressTo({ sends }))).toBe(true)
    expect((await messages.findOne({ _id: '$body' }))?.sends).toEqual(sends)
  })

  test('that are large are written in several statements', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `large-${n}`)
    await messages.insertMany(ids.map((_id) => newRecord({ _id })))
    const answer = '€'.repeat(2 * 1024 * 1024)
    const written = ids.map((_id) => committer.commit({ _id, revision: 0 }, progressTo({ answer })))
    expect(await Promise.all(written)).toEqual(ids.map(() => true))
    expect(await messages.countDocuments({ answer })).toBe(8)
  })

  test('that end a message take it out of the open ones', async () => {
    await messages.insertOne(newRecord({ _id: 'ending' }))
    const { open: _open, ...ended } = progressTo({ state: 'done', expiresAt: new Date(0) })
    expect(await committer.commit({ _id: 'ending', revision: 0 }, ended)).toBe(true)
    expect(await messages.findOne({ _id: 'ending', open: { $exists: false }, state: 'done' })).not.toBeNull()
  })
})

describe('the progress of one send', () => {
  const settlement = { kind: 'settled', delivered: true } as const
  const planned = (_id: string, count: number) =>
    newRecord({
      _id,
      state: 'handled',
      answer: 'x'.repeat(count * 100),
      sends: Array.from(
        { length: count },
        (_, n): Send => ({ ...textSend(`${_id}:${n}`, '$x'), state: 'pending' }),
      ),
    })
  /** Claims and settles each send in turn, as a run does. */
  const sendAll = async (record: MessageRecord, commit: Committer['commit']) => {
    let current = record
    const step = async (progress: Progress) => {
      expect(await commit(current, progress)).toBe(true)
      current = advanced(current, progress)
    }
    for (const index of record.sends.keys()) {
      await step(claimed(current, { index, at: index }))
      const attempt = { at: new Date(index), step: `${index}`, outcome: 'accepted', ms: 1 } as const
      await step(settledSend(current, { index, settlement, attempt, at: index, retentionMs: 1_000 }))
    }
    return current
  }

  test.each([1, 2, 5, 50, 60])('is stored as it is in memory, of %i', async (count) => {
    const record = planned(`sends-${count}`, count)
    await messages.insertOne(record)
    const { updatedAt: _then, ...expected } = await sendAll(record, committer.commit)
    const { updatedAt: _now, ...stored } = (await messages.findOne({ _id: record._id })) ?? record
    expect(stored).toEqual({ ...expected, writer: 'us' })
  })

  test('is written by itself: 50 others make the statement no larger', async () => {
    const sizes = new Map<number, number[]>()
    const measured = new Proxy(messages, {
      get: (target, key) =>
        key === 'updateMany'
          ? (filter: object, update: object[], options: object) => {
              sizes.get(current)?.push(mongo.BSON.calculateObjectSize({ update }, options))
              return target.updateMany(filter, update, options)
            }
          : Reflect.get(target, key),
    })
    let current = 0
    for (const count of [5, 50]) {
      current = count
      sizes.set(count, [])
      const record = planned(`measured-${count}`, count)
      await messages.insertOne(record)
      await sendAll(record, createCommitter(measured, 'us').commit)
    }
    // Ids and positions differ by digits.
    expect(Math.max(...(sizes.get(50) ?? []))).toBeLessThan(Math.max(...(sizes.get(5) ?? [])) + 50)
  })
})

describe('the turns of a message', () => {
  const turnOf = (text: string, result?: string): Turn => ({
    at: new Date('2026-01-01T00:00:00Z'),
    provider: 'openai',
    model: 'm',
    inputTokens: 1,
    outputTokens: 1,
    ms: 1,
    finishReason: 'stop',
    text,
    calls: [
      {
        id: 'c',
        tool: 't',
        args: '{"$x":1}',
        ...(result === undefined ? {} : { result: { state: 'done', text: result } }),
      },
    ],
  })

  test('are stored as they are in memory, beside messages without any', async () => {
    await messages.insertMany([newRecord({ _id: 'turns' }), newRecord({ _id: 'without', state: 'sending' })])
    let record = await read('turns')
    const lists = [
      [turnOf('$one')],
      [turnOf('$one', '$result')],
      [turnOf('$one', '$result'), turnOf('two')],
      [turnOf('other', 'x'), turnOf('two', 'y')],
    ]
    for (const turns of lists) {
      // The turns that did not change are the same objects, as in the pipeline.
      const before = record.turns ?? []
      const next = turns.map((turn, at) =>
        JSON.stringify(turn) === JSON.stringify(before[at]) ? (before[at] ?? turn) : turn,
      )
      const progress = progressTo({ turns: next })
      const other = await read('without')
      const written = await Promise.all([
        committer.commit(record, progress),
        committer.commit(other, progressTo()),
      ])
      expect(written).toEqual([true, true])
      record = advanced(record, progress)
      expect((await read('turns')).turns).toEqual(turns)
      expect(await read('without')).not.toHaveProperty('turns')
    }
  })
})

async function read(_id: string): Promise<MessageRecord> {
  return (await messages.findOne({ _id })) as MessageRecord
}
