import { expect, test } from '@jest/globals'
import { eraseDeliveries } from '@parley/dispatcher/api/threads/erasers'
import { giveToPerson } from '@parley/dispatcher/conversations/take-over'
import { publicId } from '@parley/dispatcher/message/thread-record'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { createReadable } from '@parley/dispatcher/outgoing/readable'
import { collectionsOf } from '@parley/dispatcher/store/collections'
import { newRecord } from '../new-record.ts'
import { eventDatabase } from './event-database.ts'

const RETENTION_MS = 3_600_000
const database = eventDatabase()

const [here, there] = ['here', 'there'].map((channel) => ({ workspace: 1, channel, extId: 't' })) as [
  { workspace: number; channel: string; extId: string },
  { workspace: number; channel: string; extId: string },
]
const about = (record: string, event = 'message.received', workspace = 1) => ({
  ...{ subscription: { key: `${workspace}/1/0`, shard: 0, workspace }, event, record, line: 'thread/t' },
  ...{ key: event, at: new Date(), data: {}, shortData: {} },
})
const insert = (...deliveries: ReturnType<typeof about>[]) =>
  createInsertDeliveries({ collections: database.collections, retentionMs: RETENTION_MS, now: Date.now })(
    deliveries,
  )
const left = async () =>
  (await database.collections.deliveries.find().sort({ order: 1 }).toArray()).map(({ record }) => record)

const watcher = {
  account: { _id: 1, username: 'eva', name: 'Eva', profile: 1, context: {} },
  workspace: { _id: 1, name: 'acme', namespace: 'acme', host: '' },
  role: { _id: 1, name: 'WATCHER', version: 1 },
}

test('with a thread the deliveries of its messages go, also of those that ended before, and no others', async () => {
  await collectionsOf(database.connection).messages.insertMany([
    newRecord({ _id: 'a', thread: 't', channel: 'here' }),
    newRecord({ _id: 'b', thread: 't', channel: 'there' }),
  ])
  const [ours, theirs] = [here, there].map((name) => `threads/${publicId(name)}`) as [string, string]
  await insert(about('messages/a'), about('messages/ended'), about(ours), about('messages/b'), about(theirs))
  await insert(about('messages/of another workspace', 'message.received', 2))
  const tasks = { scope: {}, ids: [], left: 0 }
  const erase = eraseDeliveries({
    ...database.collections,
    messages: collectionsOf(database.connection).messages,
  })
  await erase({ ...here, joined: [], messageIds: ['a'], tasks })
  expect(await left()).not.toContain('messages/a')
  await collectionsOf(database.connection).messages.deleteOne({ _id: 'a' })
  await erase({ ...here, joined: [], messageIds: [], tasks })
  expect(await left()).toEqual(['messages/b', theirs, 'messages/of another workspace'])
})

test('an account gets the events of those threads alone that it may read', async () => {
  for (const name of [here, there])
    await giveToPerson(collectionsOf(database.connection), {
      ...name,
      partitions: [0],
      retentionMs: RETENTION_MS,
    })
  const gone = `threads/${publicId({ channel: 'here', extId: 'gone' })}`
  const records = [...[here, there].map((name) => `threads/${publicId(name)}`), gone]
  await insert(...records.map((record) => about(record, 'thread.handed_off')))
  const asked: string[] = []
  const readable = createReadable({
    ...collectionsOf(database.connection),
    replica: { find: async () => [] },
    identity: { get: async () => watcher },
    authorizer: {
      decide: async (_caller: unknown, resource: string) => {
        asked.push(resource)
        return { kind: 'some', filter: { channel: 'there' }, test: () => true }
      },
    } as never,
  })
  const deliveries = await database.collections.deliveries.find().toArray()
  const allowed = await readable({ workspace: 1, account: 1 }, deliveries)
  expect([...allowed].map(({ record }) => record)).toEqual([`threads/${publicId(there)}`])
  expect(asked).toEqual(['threads'])
})

test('an account whose role has rules gets no event of a document that is deleted, or of which it has a part', async () => {
  const whole = { _id: 1, name: 'a', account: 5 }
  const change = (document: object | null) => ({ resource: 'configs', _id: 1, version: 2, document })
  await database.collections.deliveries.deleteMany({})
  await insert(
    { ...about('configs/1', 'configuration.configs.updated'), data: change(whole) },
    { ...about('configs/2', 'configuration.configs.deleted'), data: change(null) },
    { ...about('tasks/3', 'task.completed'), data: { _id: 3, task: whole } },
    {
      ...about('subscriptions/4', 'subscription.disabled'),
      data: { subscription: { _id: 4, url: 'https://a' } },
    },
  )
  const deliveries = await database.collections.deliveries.find().toArray()
  const readableBy = (kind: 'some' | 'all') =>
    createReadable({
      ...collectionsOf(database.connection),
      replica: { find: async () => [] },
      identity: { get: async () => watcher },
      authorizer: {
        decide: async () => ({ kind, test: ({ account }: { account?: number }) => account !== 9 }),
      } as never,
    })({ workspace: 1, account: 1 }, deliveries)
  const records = async (kind: 'some' | 'all') =>
    [...(await readableBy(kind))].map(({ record }) => record).toSorted()
  expect(await records('some')).toEqual(['configs/1', 'tasks/3'])
  expect(await records('all')).toEqual(['configs/1', 'configs/2', 'subscriptions/4', 'tasks/3'])
})

test('an account gets the notices of those channels alone that it may read, by what callers see of them', async () => {
  await database.collections.deliveries.deleteMany({})
  const noticeOf = (channel: number) => ({
    ...about(`notices/${channel}`, 'channel.notice'),
    data: { channel: { _id: channel, extId: 'line' } },
  })
  await insert(noticeOf(1), noticeOf(2), noticeOf(3))
  const channels = [
    { _id: 1, version: 4, name: 'ours', config: { accessToken: 'secret' } },
    { _id: 2, version: 1, name: 'theirs', config: {} },
  ]
  const seen: object[] = []
  const readable = createReadable({
    ...collectionsOf(database.connection),
    replica: { find: async (query) => channels.filter(({ _id }) => 'id' in query && query.id === _id) },
    identity: { get: async () => watcher },
    authorizer: {
      decide: async (_caller: unknown, resource: string) => ({
        kind: resource === 'channels' ? 'some' : 'none',
        filter: {},
        test: (channel: { name: string }) => seen.push(channel) > 0 && channel.name === 'ours',
      }),
    } as never,
  })
  const deliveries = await database.collections.deliveries.find().toArray()
  const allowed = await readable({ workspace: 1, account: 1 }, deliveries)
  expect([...allowed].map(({ record }) => record)).toEqual(['notices/1'])
  expect(JSON.stringify(seen)).not.toContain('"secret"')
  expect(seen[0]).not.toHaveProperty('version')
})
