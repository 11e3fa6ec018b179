import { describe, expect, test } from '@jest/globals'
import { createLog } from '@parley/shared/log'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import type { Attempt } from '../../src/message/message-record.ts'
import { recoverThreads } from '../../src/schedule/recover-threads.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const HOUR = 3_600_000
const PAUSE = 30_000
const log = createLog({ service: 'test', level: 'silent' })
const database = dispatcherDatabase({ partitions: 8 })
let now = Date.now()

/**
 * Stores a message that failed once; the clock was so far ahead (milliseconds) when it said when the next try is due, and
 * when that was written.
 */
const storeFailed = async (_id: string, ahead: number, writtenAhead = ahead) => {
  const at = new Date(now + ahead)
  const due = new Date(at.getTime() + PAUSE)
  const updatedAt = new Date(now + writtenAhead)
  const attempts: Attempt[] = [{ at, step: 'send', ms: 5, outcome: 'retryable', code: '131000' }]
  const body = JSON.stringify({ extId: 'c', user: { phone: '1' }, thread: {}, answer: { message: 'hi' } })
  const failed = { tries: 1, open: true, due, waitingFor: 'retry', updatedAt, attempts } as const
  await database.collections.messages.insertOne(
    newRecord({ _id, thread: _id, partition: 3, body, ...failed }),
  )
}

/** Runs the message as the store has it. */
async function run(_id: string) {
  const deliver = createDeliverMessage(
    deliveryOptions(
      { reports: false, deliver: async () => ({ kind: 'accepted', delivered: true }) },
      {
        read: (_id) => database.collections.messages.findOne({ _id }),
        now: () => now,
        sendRateLimit: {
          slot: async () => ({ kind: 'reserved', at: now }),
          anotherSlot: async () => ({ kind: 'reserved', at: now }),
          count: async () => {},
          slowDown: async () => {},
        },
      },
    ),
  )
  const record = await database.collections.messages.findOne({ _id })
  if (record === null) throw new Error('the message is gone')
  return deliver(record, database.leased, (call) => call())
}

describe('a message whose next try was set by a clock an hour ahead', () => {
  test('is tried after the pause that was meant', async () => {
    await storeFailed('ahead', HOUR)
    expect(await run('ahead')).toMatchObject({ kind: 'wait', until: now + PAUSE, for: 'retry' })
    expect(await database.collections.messages.findOne({ _id: 'ahead' })).toMatchObject({
      due: new Date(now + PAUSE),
      tries: 1,
      waitingFor: 'retry',
    })
    now += PAUSE
    expect(await run('ahead')).toEqual({ kind: 'closed' })
  })

  test('is tried after that pause also when the clock was set back before that was written', async () => {
    now = Date.now()
    await storeFailed('set-back', HOUR, 0)
    expect(await run('set-back')).toMatchObject({ kind: 'wait', until: now + PAUSE, for: 'retry' })
    now += PAUSE
    expect(await run('set-back')).toEqual({ kind: 'closed' })
  })

  test('is looked at as soon as its partition is taken over', async () => {
    now = Date.now()
    await storeFailed('taken-over', HOUR)
    await storeFailed('taken-over-set-back', HOUR, 0)
    await storeFailed('in-time', 0)
    const woken = new Map<string, number>()
    await recoverThreads({
      messages: database.collections.messages,
      partition: 3,
      threads: { wake: ({ thread }, due = 0) => void woken.set(thread, due), complete: () => {} },
      active: () => true,
      log,
    })
    expect(Object.fromEntries(woken)).toEqual({
      'taken-over': 0,
      'taken-over-set-back': 0,
      'in-time': now + PAUSE,
    })
  })
})

test('a message of a clock that is a few seconds ahead is tried when that clock said', async () => {
  now = Date.now()
  await storeFailed('little', 5_000)
  expect(await run('little')).toMatchObject({ kind: 'wait', until: now + 5_000 + PAUSE })
})
