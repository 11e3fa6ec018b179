import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen, namedSecret } from '@parley/local/testing/service-under-test'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore, type DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { createLog } from '@parley/shared/log'
import { CONFIGURATION_EXCHANGE } from '@parley/shared/messaging/topology'
import { createSecretBox, secretKeyring } from '@parley/shared/sealed-value'
import { connect } from 'amqplib'
import { collectionsOf } from '../../src/store/collections.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let endpoint: Listening
let paths: string[] = []

const channel = (extId: string, path: string, more: object = {}) => ({
  name: '',
  description: '',
  hook: 'whatsapp',
  callback: 'rpc',
  handlerUrl: 'native:agents/echo',
  extId,
  config: { callbackUrl: `${endpoint.url}/${path}` },
  ...more,
})
let posted = 0
const deliver = async (extId: string) => {
  const id = `c-${++posted}`
  const thread = { extId: id }
  await world.post(id, { extId, user: {}, thread, answer: { message: 'x' } })
  await world.message(id, 'delivered')
  return paths.at(-1)
}

beforeAll(async () => {
  endpoint = await listen((req, res) => {
    paths.push(req.url ?? '')
    req.resume().on('end', () => res.end('{}'))
  })
  world = await startDispatchWorld()
})
afterAll(async () => {
  await world.close()
  await endpoint.close()
})
beforeEach(() => {
  paths = []
})

describe("the dispatcher's own replicas of what is configured", () => {
  test('a change takes effect at once: another URL, another external id, a deletion', async () => {
    await world.putChannel(1, channel('a', 'first'))
    expect(await deliver('a')).toBe('/first')
    await world.putChannel(1, channel('a', 'second'))
    await world.replicated('channels', 1, 2)
    await eventually(async () => (await deliver('a')) === '/second')
    await world.putChannel(1, channel('b', 'third'))
    expect(await deliver('b')).toBe('/third')
    await world.remove('channels', 1)
    expect((await world.replicated('channels', 1, 4)).document).toBeUndefined()
    await eventually(async () => {
      const id = `removed-${++posted}`
      await world.post(id, { extId: 'b', user: {}, thread: { extId: id }, answer: { message: 'x' } })
      return (await world.message(id, 'delivered', 'unrouted')).state === 'unrouted'
    })
    expect(paths.at(-1)).toBe('/third')
  })

  test('a channel in use costs no question to configuration for each message', async () => {
    await world.putChannel(2, channel('busy', 'busy'))
    await deliver('busy')
    const asked = world.asked().length
    for (let n = 0; n < 20; n++) await deliver('busy')
    expect(world.asked().length).toBe(asked)
  })

  test('serve a process that starts while configuration is unavailable, and contain no secret in plain text', async () => {
    const config = { callbackUrl: `${endpoint.url}/held`, accessToken: 'in the clear' }
    await world.putChannel(3, channel('held', 'held', { config }))
    await world.replicated('channels', 3)
    await deliver('held')
    world.configuration.cut()
    const second = await world.startDispatcher()
    expect(await deliver('held')).toBe('/held')
    await second.close()
    world.configuration.mend()
    const texts = (await world.database.collection('configured').find().toArray()).map(
      (replica) => replica.document,
    )
    expect(texts.join()).toContain('"accessToken":"sealed:')
    expect(texts.join()).not.toContain('in the clear')
  })

  test('what came about while nobody listened is read again in the background once a replica is a minute old', async () => {
    await world.putChannel(4, channel('old', 'old'))
    await deliver('old')
    const store = world.database.collection<DocumentReplica>('configured')
    const _id = `channels/${world.workspace}/4`
    await eventually(async () => (await store.findOne({ _id }))?.readAt)
    const past = new Date(Date.now() - 61_000)
    const document = JSON.stringify({ ...channel('old', 'stale'), _id: 4 })
    await store.updateOne({ _id }, { $set: { document, version: 0, readAt: past, storedAt: past } })
    const connection = await connect(world.amqpUrl)
    const broker = await connection.createChannel()
    // Any change in the workspace has the memory read the replicas again.
    const change = {
      resource: 'jobs',
      workspace: world.workspace,
      _id: 999,
      version: 1,
      document: { _id: 999 },
    }
    broker.publish(CONFIGURATION_EXCHANGE, 'jobs.updated', Buffer.from(JSON.stringify(change)))
    const version = async () => (await store.findOne({ _id }))?.version
    await eventually(async () => (await deliver('old')) && (await version()) === 1)
    await eventually(async () => (await deliver('old')) === '/old')
    await connection.close()
  })

  test('a change that can not be read is ignored', async () => {
    const connection = await connect(world.amqpUrl)
    const broker = await connection.createChannel()
    for (const text of ['{', '{}', '{"resource":"channels"}'])
      broker.publish(CONFIGURATION_EXCHANGE, 'channels.updated', Buffer.from(text))
    await broker.close()
    await connection.close()
    await world.put('jobs', 5, { role: 'r', goal: 'g', description: 'd' })
    expect((await world.replicated('jobs', 5)).document).toContain('"goal":"g"')
  })
})

describe('a version', () => {
  const workspace = 99
  const box = createSecretBox(secretKeyring.parse(namedSecret('k')))
  const stored = () => {
    const connection = { collection: (name: string) => world.database.collection(name) }
    return createReplicaStore({ replicas: collectionsOf(connection as never).replicas, box })
  }
  const jobOf = (goal: string) => ({ _id: 1, goal })
  const query = { resource: 'jobs', workspace, id: 1 } as const
  const goal = async () => (await stored().read(query))[0]?.document

  test('older than the one in the replica is ignored, also after a deletion', async () => {
    const save = (version: number, document: object | null) => stored().save({ ...query, version, document })
    await save(3, jobOf('third'))
    await save(2, jobOf('second'))
    expect(await goal()).toContain('third')
    await save(4, null)
    await save(3, jobOf('third'))
    expect(await goal()).toBeUndefined()
    await save(5, jobOf('fifth'))
    expect(await goal()).toContain('fifth')
  })

  test('that configuration answered has the time of that, also where its event is written meanwhile', async () => {
    const readAt = new Date()
    const both = Array.from({ length: 50 }, async (_, n) => {
      const job = { resource: 'jobs', workspace, id: 100 + n } as const
      const document = { _id: job.id, goal: 'there' }
      await Promise.all([
        stored().save({ ...job, version: 1, document }),
        stored().saveResponse(job, { documents: [{ ...document, version: 1 }], readAt }),
      ])
      return (await stored().read(job))[0]?.readAt
    })
    expect(await Promise.all(both)).toEqual(both.map(() => readAt))
  })

  test('that configuration no longer has is gone, and what is not there is asked for each time', async () => {
    let responses: unknown[] = []
    const asked: string[] = []
    const configuration = {
      get: async (path: string) => {
        asked.push(path)
        return responses.shift()
      },
    }
    const log = createLog({ service: 'test', level: 'silent' })
    const replica = createReplica({
      store: stored(),
      configuration,
      freshMs: Number.POSITIVE_INFINITY,
      missesFreshMs: 0,
      log,
    })
    const job = { resource: 'jobs', workspace, id: 7 } as const
    expect(await replica.find(job)).toEqual([])
    responses = [{ _id: 7, version: 1, goal: 'there' }]
    expect(await replica.find(job)).toMatchObject([{ _id: 7, goal: 'there' }])
    expect(await replica.find(job)).toMatchObject([{ goal: 'there' }])
    expect(asked.length).toBe(2)
    await eventually(async () => (await stored().read(job))[0]?.document)
    expect(await replica.find(job, { notBefore: Date.now() + 1 })).toEqual([])
    expect(asked.length).toBe(3)
    await eventually(async () => (await stored().read(job))[0]?.document === undefined)
  })

  test('of the configs of an owner is complete once they were read, also where there are none, and events add to it', async () => {
    const asked: string[] = []
    const config = { name: 'credentials', value: {}, owner: 5, ownerType: 'action' }
    let answer: () => unknown = () => ({ data: [] })
    const configuration = {
      get: async (path: string) => {
        asked.push(path)
        return answer()
      },
    }
    const log = createLog({ service: 'test', level: 'silent' })
    const start = () =>
      createReplica({ store: stored(), configuration, freshMs: 60_000, missesFreshMs: 0, log })
    const owned = { resource: 'configs', workspace, owner: 5, ownerType: 'action' } as const
    const first = start()
    expect(await first.find(owned)).toEqual([])
    expect(await first.find(owned)).toEqual([])
    expect(asked).toEqual([`/internal/workspaces/${workspace}/configs?owner=5&ownerType=action`])
    const entries = world.database.collection<DocumentReplica>('configured')
    await eventually(async () => (await entries.findOne({ workspace, version: 0 })) ?? undefined)
    answer = () => {
      throw new Error('unavailable')
    }
    expect(await start().find(owned)).toEqual([])
    for (const id of [3, 2]) {
      const document = { ...config, _id: id }
      await stored().save({ resource: 'configs', workspace, id, version: 1, document })
    }
    first.changed(workspace)
    expect((await first.find(owned)).map(({ _id }) => _id)).toEqual([2, 3])
    const moved = { ...config, _id: 3, owner: 6 }
    await stored().save({ resource: 'configs', workspace, id: 3, version: 2, document: moved })
    await stored().save({ resource: 'configs', workspace, id: 2, version: 2, document: null })
    first.changed(workspace)
    expect(await first.find(owned)).toEqual([])
    await expect(first.find({ ...owned, owner: 6 })).rejects.toThrow('unavailable')
    expect(asked.length).toBe(2)
    answer = () => ({ data: [] })
    expect(await first.find(owned, { notBefore: Date.now() + 1 })).toEqual([])
    expect(asked.length).toBe(3)
  })

  test('of configs, steps and workflows comes with the events of their changes', async () => {
    await world.put('steps', 1, { name: 's', description: '', instructions: '', submitWhen: '' })
    await world.put('workflows', 1, { name: 'w', description: '' })
    await world.put('configs', 1, {
      name: 'c',
      value: { apiKey: 'in the clear' },
      owner: 1,
      ownerType: 'action',
    })
    for (const resource of ['steps', 'workflows', 'configs']) await world.replicated(resource, 1)
    expect((await world.replicated('configs', 1)).document).toContain('"apiKey":"sealed:')
  })
})
