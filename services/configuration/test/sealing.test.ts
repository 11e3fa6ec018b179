import { describe, expect, test } from '@jest/globals'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import type { mongo } from 'mongoose'
import { startSealing } from '../src/sealing/start-sealing.ts'
import { openDatabase } from '../src/store/database.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests()
const CANARY = 'in-the-clear'
/** Made, then written in the clear. */
const CLEAR_VERSION = 2
const query = `k=${CANARY}`
const MCP = `https://m.example/mcp?${query}`
const value = { headers: { Authorization: CANARY }, list: [[CANARY, 7]] }

const put = (path: string, body: unknown) => server.call('PUT', `/rest/${path}`, { body })
const get = (path: string, role?: string) => server.call('GET', `/rest/${path}`, role ? { role } : {})
const contentsOf = async (database: mongo.Db) => {
  const collections = await database.listCollections().toArray()
  const names = collections.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
  return Promise.all(
    names.map(async (name) => ({ name, documents: await database.collection(name).find().toArray() })),
  )
}
const everything = async (database = server.database) => JSON.stringify(await contentsOf(database))
const sealing = () => server.database.collection<{ _id: string; lookedAt?: string }>('sealing')

/** Documents with a history, without secrets. */
async function storeDocuments(ids: number[]): Promise<void> {
  for (const id of ids) {
    await put(`actions/${id}`, { ...bodies.actions, moduleUrl: 'https://m.example/mcp' })
    await put(`configs/${id}`, { ...bodies.configs, name: 'credentials', value: {} })
    await put(`channels/${id}`, { ...bodies.channels, config: {} })
  }
  const last = ids.at(-1)
  await eventually(
    () => get(`channels/${last}/history`),
    ({ json }) => json.data?.length > 0,
  )
}

/** Puts secrets into them, and into their history, as the release before wrote them. */
async function writeInTheClear(database: mongo.Db, ids: number[]): Promise<void> {
  for (const id of ids) {
    const at = { '_id.id': id }
    await database
      .collection('actions')
      .updateOne(at, { $set: { 'doc.moduleUrl': MCP }, $inc: { version: 1 } })
    await database.collection('configs').updateOne(at, { $set: { 'doc.value': value }, $inc: { version: 1 } })
    const set = { 'doc.handlerUrl': `https://u:${CANARY}@h.example/`, 'doc.config.X-Api-Key': CANARY }
    await database.collection('channels').updateOne(at, { $set: set, $inc: { version: 1 } })
  }
  const history = database.collection<{ _id: object }>('history')
  for (const id of ids) {
    const of = { '_id.id': id, '_id.version': 1 }
    const add = (resource: string, changes: object[]) =>
      history.updateOne(
        { ...of, '_id.resource': resource },
        { $push: { changes: { $each: changes } } as never },
      )
    await add('actions', [{ path: '/moduleUrl', before: MCP, after: 'native:request' }])
    await add('configs', [{ path: '/value/headers/Authorization', before: CANARY, after: 'other' }])
  }
}

const version = async (path: string) => Number((await get(path)).headers.get('etag')?.replaceAll('"', ''))

describe('what was stored in the clear', () => {
  test('is counted in the log by who seals it', async () => {
    await storeDocuments([80])
    // Of its own: the instance of the others may look through theirs at any moment.
    const apart = server.database.client.db(freshDatabase('sealing'))
    for (const { name, documents } of await contentsOf(server.database))
      if (name !== 'sealing' && documents.length > 0) await apart.collection(name).insertMany(documents)
    await writeInTheClear(apart, [80])
    const lines: unknown[][] = []
    const silent = { service: 'configuration', level: 'silent' }
    const log = createLog(silent)
    for (const level of ['info', 'warn'] as const) log[level] = (...line: unknown[]) => void lines.push(line)
    const { mongoUrl } = await testServers()
    const stored = { url: mongoUrl, database: apart.databaseName }
    const database = openDatabase({ ...stored, log: createLog(silent) })
    const secrets = createSecretBox(secretKeysOf({}))
    const sealing = startSealing({ database, secrets, isReadByEarlier: async () => false, log })
    const said = 'secrets sealed that were stored in the clear'
    await eventually(
      () => lines,
      ({ length }) => length > 0,
    )
    expect(lines).toEqual([[{ documents: 3, history: 2 }, said]])
    await sealing.stop()
    await database.close()
    expect(await everything(apart)).not.toContain(CANARY)
    await apart.dropDatabase()
  })

  test('is sealed when an instance starts, once, however many start, and stays what it was', async () => {
    const ids = Array.from({ length: 40 }, (_, at) => at + 1)
    await storeDocuments(ids)
    await writeInTheClear(server.database, ids)
    const shown = await get('actions/1')
    await sealing().updateOne({ _id: 'sealing' }, { $unset: { lookedAt: '' } })
    expect(await everything()).toContain(CANARY)
    await Promise.all([server.startInstance(), server.startInstance(), server.startInstance()])
    await eventually(
      () => everything(),
      (all) => !all.includes(CANARY),
    )
    expect(await version('actions/1')).toBe(CLEAR_VERSION + 1)
    expect((await get('actions/1')).json).toEqual(shown.json)
    expect((await get('configs/1')).json.value).toEqual(value)
    expect((await get('channels/1')).json).toMatchObject({
      handlerUrl: `https://u:${CANARY}@h.example/`,
      config: { 'X-Api-Key': CANARY },
    })
    expect((await get('channels/1', 'VIEWER')).json.handlerUrl).toBe(`https://${MASK}@h.example/`)
    const history = await eventually(
      () => get('actions/1/history'),
      ({ json }) => json.data[0].by.username === 'sealing',
    )
    expect(history.json.data[0].changes).toEqual([{ path: '/moduleUrl' }])
    const events = (await get('configs/1/history')).text
    expect(events).toContain(CANARY)
    expect((await get('configs/1/history', 'VIEWER')).text).not.toContain(CANARY)
  })

  test('by an instance of the release before, after the last look, is sealed at the next start', async () => {
    await put('actions/90', { ...bodies.actions, moduleUrl: 'https://m.example/mcp' })
    const at = new Date().toISOString()
    await server.database
      .collection('actions')
      .updateOne({ '_id.id': 90 }, { $set: { 'doc.moduleUrl': MCP, 'written.at': at }, $inc: { version: 1 } })
    await server.startInstance()
    await eventually(
      () => everything(),
      (all) => !all.includes(CANARY),
    )
    expect((await get('actions/90')).json.moduleUrl).toBe(MCP)
  })
})
