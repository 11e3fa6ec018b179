import { expect, test } from '@jest/globals'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import { createShowPresence } from '../../../src/api/streams/presence.ts'

const thread = { workspace: 1, channel: 'line', extId: 'ana' }
const of = { by: { _id: 2, name: 'Bruno' }, isTyping: true }

test('while Redis is unavailable presence is dropped, which is no error', async () => {
  const redis = connectRedis('redis://127.0.0.1:1', createLog({ service: 'test', level: 'silent' }))
  const showPresence = createShowPresence({ redis, database: 'test' })
  expect(await showPresence(thread, of)).toBe(false)
  redis.disconnect()
})

test('of one workspace half of all at most wait for Redis, so that others have theirs meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const redis = { publish: () => promise } as unknown as Redis
  const showPresence = createShowPresence({ redis, database: 'test' })
  const asked = Array.from({ length: 600 }, () => showPresence(thread, of))
  const other = showPresence({ ...thread, workspace: 2 }, of)
  resolve(1)
  const shown = (await Promise.all(asked)).filter(Boolean)
  expect(shown).toHaveLength(250)
  expect(await other).toBe(true)
})
