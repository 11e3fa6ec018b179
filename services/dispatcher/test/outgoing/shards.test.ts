import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { SHARDS } from '@parley/dispatcher/message/delivery'
import { startShards, type WorkedShards } from '@parley/dispatcher/outgoing/shards'
import type { EventCollections } from '@parley/dispatcher/store/event-collections'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { eventDatabase } from './event-database.ts'

const log = createLog({ service: 'test', level: 'silent' })
const ALL = Array.from({ length: SHARDS }, (_, shard) => shard)
const database = eventDatabase()
let shards: EventCollections['shards']
let started: WorkedShards[]
let instances: number

beforeEach(() => {
  shards = database.collections.shards
  started = []
  instances = 1
})
afterEach(() => Promise.all(started.map((one) => one.close())))

/** An instance, and each shard that it opened and closed, in order. Closing one waits for what is in flight in it. */
function start(instance: string, inFlight?: Promise<void>) {
  const happened: string[] = []
  const worked = startShards({
    ...{ shards, instance, log },
    ready: Promise.resolve(),
    instances: async () => instances,
    open: (shard) => {
      happened.push(`opened ${shard}`)
      return {
        async close() {
          happened.push(`closed ${shard}`)
          await inFlight
        },
      }
    },
  })
  started.push(worked)
  return { happened, working: () => worked.working().toSorted() }
}

test('a shard that another instance has taken is closed here, and the others go on', async () => {
  const { happened, working } = start('first')
  await eventually(() => working().length === SHARDS)
  const expiresAt = new Date(Date.now() + 60_000)
  await shards.updateOne({ _id: 'shard 3' }, { $set: { owner: 'second', expiresAt } })
  await eventually(() => happened.includes('closed 3'))
  expect(working()).toEqual(ALL.filter((shard) => shard !== 3))
  expect(happened.slice(SHARDS)).toEqual(['closed 3'])
})

test('two instances share the shards, and the one that stays takes those of the one that leaves', async () => {
  const first = start('first')
  await eventually(() => first.working().length === SHARDS)
  instances = 2
  const second = start('second')
  await eventually(() => second.working().length === SHARDS / 2)
  expect([...first.working(), ...second.working()].toSorted()).toEqual(ALL)
  instances = 1
  await started.shift()?.close()
  await eventually(() => second.working().length === SHARDS)
})

test('the shards that stay with an instance are renewed while the others are handed over, all at once', async () => {
  const inFlight = Promise.withResolvers<void>()
  const { happened, working } = start('first', inFlight.promise)
  await eventually(() => working().length === SHARDS)
  instances = 2
  await eventually(() => happened.length > SHARDS)
  const expiresAt = async () => (await shards.findOne({ _id: 'shard 0' }))?.expiresAt?.getTime() ?? 0
  const before = await expiresAt()
  const isRenewed = eventually(async () => (await expiresAt()) > before)
  const renewed = await isRenewed.catch(() => false).finally(inFlight.resolve)
  expect([renewed, happened.slice(SHARDS)]).toEqual([true, ALL.slice(4).map((shard) => `closed ${shard}`)])
})
