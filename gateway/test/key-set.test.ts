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
let answer: () => unknown
let keySet: KeySet
const log = createLog({ service: 'test', level: 'silent' })
beforeEach(() => {
  now = 1_000_000
  asked = []
  answer = () => ({ keys: [jwk('a')] })
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  keySet = createKeySet({
    identity: {
      get: async (path) => {
        asked.push(path)
        return answer()
      },
    },
    log,
  })
})
afterEach(() => void jest.restoreAllMocks())

const away = () => {
  throw new Problem('unavailable')
}

describe('identity’s keys', () => {
  test('are read when one is wanted, and the one of that id is given', async () => {
    expect((await keySet.key('a'))?.export({ format: 'jwk' })).toEqual(publicKey.export({ format: 'jwk' }))
    expect(await keySet.key('b')).toBeUndefined()
    expect(asked).toEqual(['/.well-known/jwks.json'])
  })

  test('are read once by all who want them at the same time', async () => {
    const found = await Promise.all([keySet.key('a'), keySet.key('a'), keySet.key('b')])
    expect(found.map((key) => key !== undefined)).toEqual([true, true, false])
    expect(asked).toHaveLength(1)
  })

  test('are read again for an unknown id, at most once a second', async () => {
    await keySet.key('a')
    answer = () => ({ keys: [jwk('b')] })
    now += 1_000
    expect(await keySet.key('b')).toBeUndefined()
    now += 1
    expect(await keySet.key('b')).toBeDefined()
    expect(await keySet.key('a')).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test('are read again every 5 minutes, and nobody waits for that', async () => {
    await keySet.key('a')
    answer = () => ({ keys: [jwk('b')] })
    now += 5 * MINUTE
    expect(await keySet.key('a')).toBeDefined()
    expect(asked).toHaveLength(1)
    now += 1
    expect(await keySet.key('a')).toBeDefined()
    await new Promise(setImmediate)
    expect(asked).toHaveLength(2)
    expect(await keySet.key('a')).toBeUndefined()
  })

  test('stay as they are while identity is away', async () => {
    const warned = jest.spyOn(log, 'warn')
    await keySet.key('a')
    answer = away
    now += 5 * MINUTE + 1
    expect(await keySet.key('a')).toBeDefined()
    await new Promise(setImmediate)
    expect(warned.mock.calls).toEqual([[{ err: expect.any(Problem) }, 'keys not refreshed']])
    await expect(keySet.key('b')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await keySet.key('a')).toBeDefined()
  })

  test('can not be had when identity is away, and are read as soon as it is back', async () => {
    answer = away
    await expect(keySet.key('a')).rejects.toMatchObject({ code: 'unavailable' })
    answer = () => ({ keys: [jwk('a')] })
    expect(await keySet.key('a')).toBeDefined()
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no keys', { keys: 'none' }],
    ['a key of another kind', { keys: [{ ...jwk('a'), crv: 'P-384' }] }],
    ['more than 16', { keys: Array.from({ length: 17 }, (_, at) => jwk(`${at}`)) }],
  ])('can not be had when identity publishes %s', async (_name, published) => {
    answer = () => published
    await expect(keySet.key('a')).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('are up to 16', async () => {
    answer = () => ({ keys: Array.from({ length: 16 }, (_, at) => jwk(`${at}`)) })
    expect(await keySet.key('15')).toBeDefined()
  })
})
