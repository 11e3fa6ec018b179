import { describe, expect, test } from '@jest/globals'
import { ofPhone } from '../../src/api/messages/filter.ts'
import { summaryOf } from '../../src/api/messages/view.ts'
import { findThreads } from '../../src/api/threads/list-threads.ts'
import { threadSummary } from '../../src/api/threads/view.ts'
import { createIsOutsideWindow } from '../../src/conversations/service-window.ts'
import type { Send } from '../../src/message/message-record.ts'
import { objectIn } from '../../src/message/object-content.ts'
import { isPersonal, textOfContent } from '../../src/message/spoken-text.ts'
import { type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })
const WORKSPACE = 1
const DIGITS = '5511988887777'
const HOUR_MS = 60 * 60 * 1_000

/** As earlier versions wrote them, beside one as it is written now. */
const earlier = newRecord({ _id: 'earlier', thread: 'a', phone: DIGITS, inbound: true })
const current = newRecord({ _id: 'current', thread: 'b', addresses: [`phone:${DIGITS}`] })

function threadOf(extId: string, minute: number, more: Partial<ThreadRecord>): ThreadRecord {
  const name = { workspace: WORKSPACE, channel: 'c', extId }
  const lastAt = new Date(Date.UTC(2030, 0, 1, 0, minute))
  return {
    ...{ _id: threadId(name), ...name, user: {}, handler: 'assistant', lastMessage: '', lastAt, unread: 0 },
    ...{ expiresAt: new Date(4e12), ...more },
  }
}

describe('what an earlier version stored of a person', () => {
  test('is found by the phone number, as what is stored now', async () => {
    const { messages } = database.collections
    await messages.insertMany([earlier, current])
    const found = await messages
      .find(ofPhone({ phone: '+55 (11) 98888-7777' }, { workspace: WORKSPACE }))
      .toArray()
    expect(found.map(({ _id }) => _id).sort()).toEqual(['current', 'earlier'])
    for (const record of found)
      expect(summaryOf(record)).toMatchObject({ phone: DIGITS, addresses: [`phone:${DIGITS}`] })
  })

  test('is found among the threads, the latest first, once where it has both', async () => {
    const { threads } = database.collections
    const addresses = [`phone:${DIGITS}`]
    await threads.insertMany([
      threadOf('earlier', 1, { phone: DIGITS }),
      threadOf('current', 3, { addresses }),
      threadOf('both', 2, { phone: DIGITS, addresses }),
      threadOf('another', 4, { addresses: ['phone:49'] }),
    ])
    const visible = { workspace: WORKSPACE }
    const find = (limit: number) => findThreads(database.collections, visible, { q: '+55 11 98', limit })
    expect((await find(9)).map(({ extId }) => extId)).toEqual(['current', 'both', 'earlier'])
    // One more than a page has.
    expect((await find(1)).map(({ extId }) => extId)).toEqual(['current', 'both'])
    expect((await find(9)).map(threadSummary)).toEqual(Array(3).fill(expect.objectContaining({ addresses })))
  })

  test('opens the service window for messages that are stored now', async () => {
    const isOutsideWindow = createIsOutsideWindow(database.collections)
    const window = { now: earlier.receivedAt.getTime() + 2 * HOUR_MS, windowMs: HOUR_MS }
    await database.collections.threads.insertOne(
      threadOf(DIGITS, 1, { lastInboundAt: earlier.receivedAt, addresses: [`phone:${DIGITS}`] }),
    )
    const later = newRecord({ _id: 'later', thread: 'd', addresses: [`phone:${DIGITS}`] })
    expect(await isOutsideWindow(later, window)).toBe(true)
    expect(await isOutsideWindow(later, { ...window, windowMs: 3 * HOUR_MS })).toBe(false)
  })
})

test('an object of a provider is known under the kind that it had in an earlier version', () => {
  const content = { kind: 'whatsapp', type: 'image', position: 2 } as unknown as Send['content']
  const send: Send = { id: 'm:0', content, state: 'sent' }
  expect(objectIn(content)).toEqual({ kind: 'object', provider: 'whatsapp', type: 'image', position: 2 })
  expect(isPersonal(send) && textOfContent(send.content)).toBe('[image]')
  expect(objectIn({ kind: 'function', name: 'f', position: 0 })).toBeUndefined()
})
