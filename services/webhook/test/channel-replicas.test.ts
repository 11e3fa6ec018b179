import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilReady } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { createReplicaStore, type ReplicaStore } from '@parley/shared/config-replica/replica-store'
import { CONFIGURATION_EXCHANGE } from '@parley/shared/messaging/topology'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { collectionsOf } from '../src/database.ts'
import { startIntakeWorld } from './intake-world.ts'
import { metaChannel, metaMessage, payloadOf, postPayload, signatureOf } from './meta-payload.ts'

const box = createSecretBox(secretKeysOf({}))
const world = startedForTests(() => startIntakeWorld())

const hookOf = (extId: string, url = world.url) => `${url}/api/hooks/whatsapp/${world.slug}/${extId}`
const payload = payloadOf({ messages: [metaMessage('wamid.copy', { type: 'text', text: { body: 'x' } })] })
const statusOf = async (extId: string, secret = 'app secret', url = world.url) => {
  const signature = signatureOf(JSON.stringify(payload), secret)
  return (await postPayload(hookOf(extId, url), payload, { signature })).status
}
const storedReplicas = () =>
  world.database.collection<{ _id: string; version: number; document?: string }>('channels')
const replicaOf = (id: number) => storedReplicas().findOne({ _id: `${world.caller.workspace._id}/${id}` })

describe("the service's own replicas of channels", () => {
  test('a change takes effect at once: a new secret, another external id, a deletion', async () => {
    await world.putChannel(1, metaChannel('a'))
    expect(await statusOf('a')).toBe(200)
    await world.putChannel(1, metaChannel('a', { appSecret: 'second' }))
    await eventually(async () => (await statusOf('a', 'second')) === 200)
    expect(await statusOf('a')).toBe(403)
    await world.putChannel(1, metaChannel('b', { appSecret: 'second' }))
    await eventually(async () => (await statusOf('a', 'second')) === 404)
    expect(await statusOf('b', 'second')).toBe(200)
    await world.deleteChannel(1)
    await eventually(async () => (await statusOf('b', 'second')) === 404)
  })

  test('of several channels with one external id the one whose hook fits comes first, then the lowest id', async () => {
    await world.putChannel(20, { ...metaChannel('many', { appSecret: 'rpc' }), hook: 'rpc' })
    await world.putChannel(22, metaChannel('many', { appSecret: 'higher' }))
    await world.putChannel(21, metaChannel('many', { appSecret: 'lower' }))
    expect([await statusOf('many', 'lower'), await statusOf('many', 'higher')]).toEqual([200, 403])
    await world.deleteChannel(21)
    await eventually(async () => (await statusOf('many', 'higher')) === 200)
  })

  test('a channel that nobody asked for yet is replicated too, and serves while configuration is unavailable', async () => {
    await world.putChannel(30, metaChannel('unasked'))
    await eventually(async () => ((await replicaOf(30)) === null ? undefined : true))
    world.configuration.cut()
    expect(await statusOf('unasked')).toBe(200)
    expect(await statusOf('unknown')).toBe(503)
    world.configuration.mend()
    await eventually(async () => (await statusOf('unknown')) === 404)
  })

  test('a replica serves another process of the service, and while the database is unavailable', async () => {
    await world.putChannel(31, metaChannel('shared'))
    expect(await statusOf('shared')).toBe(200)
    world.configuration.cut()
    const instance = await world.startInstance()
    expect(await statusOf('shared', undefined, instance.url)).toBe(200)
    world.mongo.cut()
    expect(await statusOf('shared', undefined, instance.url)).toBe(200)
    world.mongo.mend()
    world.configuration.mend()
    await untilReady(instance.url)
  })

  test('a process that knows nothing yet asks configuration while the database is unavailable', async () => {
    await world.putChannel(32, metaChannel('afresh'))
    const instance = await world.startInstance()
    world.mongo.cut()
    const hook = hookOf('afresh', instance.url)
    const status = {
      id: 'wamid.sent',
      status: 'read',
      timestamp: '1760000000',
      recipient_id: '5511999998888',
    }
    const taken = await postPayload(hook, payloadOf({ statuses: [status] }))
    // Whose thread a message belongs to is not known, so it is to come again.
    const message = await postPayload(hook, payload)
    world.mongo.mend()
    expect([taken.status, message.status, message.headers.has('retry-after')]).toEqual([200, 503, true])
    await eventually(async () => (await statusOf('afresh', undefined, instance.url)) === 200)
    await untilReady(instance.url)
  })

  test('what came about while nobody listened is read again in the background once a replica is a minute old', async () => {
    await world.putChannel(40, metaChannel('old'))
    expect(await statusOf('old')).toBe(200)
    await world.putChannel(40, metaChannel('old', { appSecret: 'newer' }))
    const _id = `${world.caller.workspace._id}/40`
    const isNew = async () => (await replicaOf(40))?.version === 2
    await eventually(isNew)
    const document = JSON.stringify({ ...metaChannel('old'), _id: 40 })
    const past = new Date(Date.now() - 61_000)
    await storedReplicas().updateOne(
      { _id },
      { $set: { version: 1, document, readAt: past, storedAt: past } },
    )
    const seen = new Set<number>()
    await eventually(async () => {
      seen.add(await statusOf('old'))
      return (await statusOf('old', 'newer')) === 200
    })
    expect([...seen].every((status) => status === 200 || status === 403)).toBe(true)
    // The answer does not wait for the replica to be written.
    await eventually(isNew)
  })

  test('stores no secret in the clear, however it got the channel', async () => {
    await world.putChannel(60, metaChannel('by-event', { appSecret: 'in the clear' }))
    await eventually(async () => ((await replicaOf(60)) === null ? undefined : true))
    expect(await statusOf('by-event', 'in the clear')).toBe(200)
    await storedReplicas().deleteMany({ _id: `${world.caller.workspace._id}/60` })
    const fresh = await world.startInstance()
    expect(await statusOf('by-event', 'in the clear', fresh.url)).toBe(200)
    const written = await storedReplicas().find().toArray()
    expect(written.length).toBeGreaterThan(0)
    const texts = written.map(({ document }) => document ?? '').join()
    expect(texts).toContain('"appSecret":"sealed:')
    for (const secret of ['in the clear', 'app secret', 'verify token']) expect(texts).not.toContain(secret)
  })

  test('an event that can not be understood is ignored', async () => {
    const channel = await world.connection.createChannel()
    for (const text of ['{', '{}', '{"resource":"channels"}'])
      channel.publish(CONFIGURATION_EXCHANGE, 'channels.updated', Buffer.from(text))
    await channel.close()
    await world.putChannel(50, metaChannel('after'))
    await eventually(async () => ((await replicaOf(50)) === null ? undefined : true))
  })
})

describe('a version', () => {
  const workspace = 99
  const document = (extId: string) => ({ ...metaChannel(extId), _id: 1 })
  let store: ReplicaStore
  beforeAll(() => {
    const connection = { collection: (name: string) => world.database.collection(name) }
    const replicas = collectionsOf(connection as never).channels
    store = createReplicaStore({ replicas, box, channelsOnly: true })
  })
  const query = (extId: string) => ({ resource: 'channels', workspace, extId }) as const
  const stored = async (extId: string) => (await store.read(query(extId))).length
  const save = (id: number, version: number, document: object | null) =>
    store.save({ resource: 'channels', workspace, id, version, document })

  test('older than the stored one is ignored, also after a deletion', async () => {
    await save(1, 3, document('v3'))
    await save(1, 2, document('v2'))
    expect([await stored('v3'), await stored('v2')]).toEqual([1, 0])
    await save(1, 4, null)
    await save(1, 3, document('v3'))
    expect(await stored('v3')).toBe(0)
    await save(1, 5, document('v5'))
    expect(await stored('v5')).toBe(1)
  })

  test('that a look-up no longer finds is gone; what an event brought meanwhile stays', async () => {
    await save(2, 1, { ...document('gone'), _id: 2 })
    const storedAt = (await store.read(query('gone')))[0]?.storedAt.getTime() ?? 0
    const readAt = await eventually(() => (Date.now() > storedAt ? new Date() : undefined))
    await save(3, 1, { ...document('gone'), _id: 3 })
    await store.saveResponse(query('gone'), { documents: [], readAt })
    expect((await store.read(query('gone'))).map(({ id }) => id)).toEqual([3])
  })
})
