import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createLog } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import { createKeySet, type KeySet } from '../src/key-set.ts'

const MINUTE = 60_000
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = (kid: string) => ({ ...publicKey.export({ format: 'jwk' }), kid })

let now: number
let asked: string[]
let reply: () => unknown
let keySet: KeySet
const log = createLog({ service: 'test', level: 'silent' })
beforeEach(() => {
  now = 1_000_000
  asked = []
  reply = () => ({ keys: [jwk('a')] })
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  keySet = createKeySet({
    identity: {
      get: async (path) => {
        asked.push(path)
        return reply()
      },
    },
    log,
  })
})
afterEach(() => void jest.restoreAllMocks())

const unavailable = () => {
  throw new Problem('unavailable')
}

describe('identity’s keys', () => {
  test('are read when the first is needed, and a key is found by its id', async () => {
    expect((await keySet.key('a'))?.export({ format: 'jwk' })).toEqual(publicKey.export({ format: 'jwk' }))
    expect(await keySet.key('b')).toBeUndefined()
    expect(asked).toEqual(['/.well-known/jwks.json'])
  })

  test('are read once for all who need them at the same time', async () => {
    const found = await Promise.all([keySet.key('a'), keySet.key('a'), keySet.key('b')])
    expect(found.map((key) => key !== undefined)).toEqual([true, true, false])
    expect(asked).toHaveLength(1)
  })

  test('are read again for an unknown id, at most once a second', async () => {
    await keySet.key('a')
    reply = () => ({ keys: [jwk('b')] })
    now += 1_000
    expect(await keySet.key('b')).toBeUndefined()
    now += 1
    expect(await keySet.key('b')).toBeDefined()
    expect(await keySet.key('a')).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test('are read again every 5 minutes, and no request waits for that', async () => {
    await keySet.key('a')
    reply = () => ({ keys: [jwk('b')] })
    now += 5 * MINUTE
    expect(await keySet.key('a')).toBeDefined()
    expect(asked).toHaveLength(1)
    now += 1
    expect(await keySet.key('a')).toBeDefined()
    await new Promise(setImmediate)
    expect(asked).toHaveLength(2)
    expect(await keySet.key('a')).toBeUndefined()
  })

  test('stay in use while identity is unavailable', async () => {
    const warned = jest.spyOn(log, 'warn')
    await keySet.key('a')
    reply = unavailable
    now += 5 * MINUTE + 1
    expect(await keySet.key('a')).toBeDefined()
    await new Promise(setImmediate)
    expect(warned.mock.calls).toEqual([
      [{ err: expect.any(Problem) }, expect.stringContaining('keys not refreshed')],
    ])
    await expect(keySet.key('b')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await keySet.key('a')).toBeDefined()
  })

  test('are unavailable while identity never responded, and are read as soon as it does', async () => {
    reply = unavailable
    await expect(keySet.key('a')).rejects.toMatchObject({ code: 'unavailable' })
    reply = () => ({ keys: [jwk('a')] })
    expect(await keySet.key('a')).toBeDefined()
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no keys', { keys: 'none' }],
    ['a key of another kind', { keys: [{ ...jwk('a'), crv: 'P-384' }] }],
    ['more than 16', { keys: Array.from({ length: 17 }, (_, at) => jwk(`${at}`)) }],
  ])('can not be had when identity publishes %s', async (_name, published) => {
    reply = () => published
    await expect(keySet.key('a')).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('are at most 16', async () => {
    reply = () => ({ keys: Array.from({ length: 16 }, (_, at) => jwk(`${at}`)) })
    expect(await keySet.key('15')).toBeDefined()
  })
})
