import { expect, test } from '@jest/globals'
import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { ConsumeMessage } from 'amqplib'
import { changeThread } from '../../src/api/threads/change-thread.ts'
import { readDelivery } from '../../src/intake/read-delivery.ts'
import { threadId } from '../../src/message/thread-record.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })

test('who takes a thread over has its open messages looked at again, not run again where they have ended', async () => {
  const { collections } = database
  const record = { ...newRecord({ _id: 'taken' }), inbound: true as const }
  await collections.messages.insertOne(record)
  const { workspace, channel, thread: extId } = record
  const name = { workspace, channel, extId }
  const now = new Date()
  const thread = {
    _id: threadId(name),
    ...name,
    user: {},
    openedAt: now,
    lastMessage: '',
    lastAt: now,
    unread: 0,
  }
  const published: Parameters<Publisher['publish']>[0][] = []
  const everything = { require: async () => ({ kind: 'all' }) } as unknown as Authorizer
  const options = {
    collections,
    authorizer: everything,
    identity: { get: async () => undefined },
    publisher: { publish: async (one: (typeof published)[number]) => void published.push(one) },
    retentionMs: 60_000,
  }
  await changeThread(options, {
    thread: { ...thread, handler: 'assistant', expiresAt: now },
    change: { handler: 'person' },
    caller: {} as Caller,
  })
  const readings = published.map(({ body, type }) =>
    readDelivery({ content: body, properties: { type } } as unknown as ConsumeMessage),
  )
  expect(readings).toEqual([{ kind: 'replay', workspace, messageId: 'taken', onlyOpen: true }])
})
