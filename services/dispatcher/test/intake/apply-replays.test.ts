import { expect, test } from '@jest/globals'
import { applyReplays } from '../../src/intake/store-deliveries.ts'
import type { Collections } from '../../src/store/collections.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })

/** The collection, in which somebody else writes each message once between our reading and our writing it. */
function writtenBetween(messages: Collections['messages']): Collections['messages'] {
  let isWritten = false
  return new Proxy(messages, {
    get(target, name) {
      if (name !== 'bulkWrite') return Reflect.get(target, name).bind(target)
      return async (...args: Parameters<typeof messages.bulkWrite>) => {
        if (!isWritten) await target.updateMany({}, { $inc: { revision: 1 } })
        isWritten = true
        return target.bulkWrite(...args)
      }
    },
  })
}

test('a message is run again although a status of it is written at the same moment', async () => {
  const { messages } = database.collections
  const { open: _open, ...ended } = newRecord({ _id: 'again', state: 'dead' })
  await messages.insertOne(ended)
  const replay = { workspace: ended.workspace, messageId: 'again', partition: 0, order: 2 ** 40 }
  const opened = await applyReplays(writtenBetween(messages), [replay])
  expect(opened).toMatchObject([{ _id: 'again', open: true, order: 2 ** 40 }])
})

test('a message that was to be looked at again while it was open, and has died since, stays dead', async () => {
  const { messages } = database.collections
  const { open: _open, ...ended } = newRecord({ _id: 'died', state: 'dead' })
  await messages.insertMany([ended, newRecord({ _id: 'open' })])
  const again = (messageId: string, order: number) => ({
    workspace: ended.workspace,
    messageId,
    partition: 0,
    order,
    onlyOpen: true,
  })
  const opened = await applyReplays(messages, [again('died', 2 ** 40), again('open', 2 ** 40 + 1)])
  expect(opened.map(({ _id }) => _id)).toEqual(['open'])
  expect(await messages.findOne({ _id: 'died' })).toEqual(ended)
})

test('a message that has died is run again where that is asked for beside being looked at', async () => {
  const { messages } = database.collections
  const { open: _open, ...ended } = newRecord({ _id: 'both', state: 'dead' })
  await messages.insertOne(ended)
  const replay = { workspace: ended.workspace, messageId: 'both', partition: 0, order: 2 ** 40 }
  const opened = await applyReplays(messages, [replay, { ...replay, order: 2 ** 40 + 1, onlyOpen: true }])
  expect(opened).toMatchObject([{ _id: 'both', open: true, order: 2 ** 40 }])
})
