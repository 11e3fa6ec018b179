import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { awaitSlot } from '@parley/dispatcher/channels/send-rate-limit/send-rate'
import {
  createSendRateLimit,
  type SendRateLimit,
} from '@parley/dispatcher/channels/send-rate-limit/send-rate-limit'
import { testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import { type Network, startNetwork } from './network.ts'

const DELAY_MS = 100
const ASKED_AT_MOST = 10

let network: Network
let redis: Redis
let sendRateLimit: SendRateLimit
beforeAll(async () => {
  const url = new URL((await testServers()).redisUrl)
  network = await startNetwork({ host: url.hostname, ports: [Number(url.port)] })
  url.port = String(network.port)
  const log = createLog({ service: 'dispatcher', level: 'silent' })
  redis = connectRedis(url.href, log)
  await new Promise((resolve) => redis.once('ready', resolve))
  sendRateLimit = createSendRateLimit(redis, log)
})
afterAll(async () => {
  redis.disconnect()
  await network.close()
})

test('a send gets a slot that it can keep, however long the way to Redis takes', async () => {
  const keys = { number: 'slow', person: 'anyone', perSecond: 80 }
  network.slow(DELAY_MS)
  const slot = await sendRateLimit.slot(keys, { ended: new AbortController().signal })
  const { at } = slot.kind === 'queued' ? await slot.found : slot
  let asked = 0
  const counting = {
    anotherSlot: (requested: typeof keys, missedAt: number) => {
      asked++
      return sendRateLimit.anotherSlot(requested, missedAt)
    },
  }
  const mayLeave = () => asked < ASKED_AT_MOST
  await awaitSlot({ at, keys, sendRateLimit: counting, now: Date.now, mayLeave })
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThan(ASKED_AT_MOST)
})
