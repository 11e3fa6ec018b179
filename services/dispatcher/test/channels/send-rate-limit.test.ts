import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import type { Redis } from 'ioredis'
import type { RateKeys } from '../../src/channels/send-rate-limit/local-rate.ts'
import {
  createSendRateLimit,
  numberInterval,
  type SendRateLimit,
} from '../../src/channels/send-rate-limit/send-rate-limit.ts'
import type { FoundSlot } from '../../src/channels/send-rate-limit/waiting-sends.ts'

const PERSON_BURST = 45
const PERSON_INTERVAL_MS = 6_000
const RATE = { perSecond: 80, perPerson: { intervalMs: PERSON_INTERVAL_MS, burst: PERSON_BURST } }
const NUMBER_INTERVAL_MS = numberInterval(RATE)
const log = createLog({ service: 'test', level: 'silent' })
let proxy: TcpProxy
let connections: Redis[]

beforeAll(async () => {
  const url = new URL((await testServers()).redisUrl)
  proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
  url.port = String(proxy.port)
  connections = [connectRedis(url.href, log), connectRedis(url.href, log)]
  await Promise.all(connections.map((redis) => new Promise((resolve) => redis.once('ready', resolve))))
})
afterAll(async () => {
  for (const redis of connections) redis.disconnect()
  await proxy.close()
})

/** Runs `work` while the clock is an hour ahead. */
async function anHourAhead<T>(work: () => Promise<T>): Promise<T> {
  const now = Date.now
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000)
  return work().finally(() => clock.mockRestore())
}

/** Returns the limit with a `slot` that also resolves for a send that waits behind others. */
const finding = ({ slot, ...rest }: SendRateLimit) => ({
  ...rest,
  async slot(keys: RateKeys): Promise<FoundSlot> {
    const found = await slot(keys, { ended: new AbortController().signal })
    return found.kind === 'queued' ? found.found : found
  },
})

const instances = () => connections.map((redis) => finding(createSendRateLimit(redis, log)))

describe('the rate of a number', () => {
  test('is one for all instances: slots are spread so that no second has more than 80', async () => {
    const [one, two] = instances()
    const times: number[] = []
    while (times.length < 200) {
      for (const sendRateLimit of [one, two]) {
        const person = `p${times.length}`
        const slot = await sendRateLimit?.slot({ number: 'spread', person, ...RATE })
        if (slot?.kind === 'reserved') times.push(slot.at)
        else await new Promise((resolve) => setTimeout(resolve, (slot?.at ?? 0) - Date.now()))
      }
    }
    times.sort((a, b) => a - b)
    const busiest = Math.max(
      ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length),
    )
    expect(busiest).toBeLessThanOrEqual(80)
    const span = (times.at(-1) ?? 0) - (times[0] ?? 0)
    // Nearly all slots are used, also where asking for them takes its time.
    expect(span).toBeLessThan(200 * NUMBER_INTERVAL_MS * 3)
  })

  test.each([
    ['20', 20],
    ['1,000', 1_000],
  ])('is that of the number: %s a second', async (_name, perSecond) => {
    const [sendRateLimit] = instances()
    const found = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        sendRateLimit?.slot({ number: `of ${perSecond}`, person: `p${n}`, perSecond }),
      ),
    )
    const times = found.map((slot) => slot?.at ?? 0).toSorted((a, b) => a - b)
    const interval = numberInterval({ perSecond })
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(9 * interval - 10)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(9 * interval + 500)
  })

  test('is that which the number is known to have by then, for sends that wait already', async () => {
    const [sendRateLimit] = instances()
    let perSecond = 20
    const asking = Array.from({ length: 200 }, (_, n) => {
      const keys = {
        ...{ number: 'learned', person: `p${n}` },
        get perSecond() {
          return perSecond
        },
      }
      return sendRateLimit?.slot(keys)
    })
    const first = await asking[0]
    perSecond = 1_000
    const last =
      (await Promise.all(asking))
        .map((slot) => slot?.at ?? 0)
        .toSorted((a, b) => a - b)
        .at(-1) ?? 0
    // At 20 a second they take 11 s.
    expect(last - (first?.at ?? 0)).toBeLessThan(5_000)
  })

  test('leaves a person any number of sends where the provider has no limit for one', async () => {
    const [sendRateLimit] = instances()
    const keys = { number: 'any', person: 'ana', perSecond: 1_000 }
    for (let n = 0; n < 60; n++) expect((await sendRateLimit?.slot(keys))?.kind).toBe('reserved')
  })

  test('counts what comes in, and halves after the provider said that it was too fast', async () => {
    const [sendRateLimit] = instances()
    const slotOf = async (number: string) =>
      (await sendRateLimit?.slot({ number, person: crypto.randomUUID(), ...RATE }))?.at ?? 0
    await slotOf('warm')
    const counted = Date.now()
    for (let n = 0; n < 20; n++) await sendRateLimit?.count({ number: 'inbound', person: 'p', ...RATE })
    expect((await slotOf('inbound')) - counted).toBeGreaterThan(20 * NUMBER_INTERVAL_MS - 50)
    await sendRateLimit?.slowDown({ number: 'slow', person: 'p', ...RATE })
    const slowed = Date.now()
    for (let n = 0; n < 20; n++) await slotOf('slow')
    expect((await slotOf('slow')) - slowed).toBeGreaterThan(40 * NUMBER_INTERVAL_MS - 50)
  })

  test('is used up by those who wait, whichever instance they wait in', async () => {
    const both = instances()
    const ask = async (_: unknown, n: number) =>
      (await both[n % 2]?.slot({ number: 'herd', person: `p${n}`, ...RATE }))?.at ?? 0
    const times = (await Promise.all(Array.from({ length: 200 }, ask))).toSorted((a, b) => a - b)
    expect(new Set(times).size).toBe(200)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(200 * NUMBER_INTERVAL_MS * 1.5)
  })

  test('does not wait for an hour that has passed already, once a clock that was ahead is set back', async () => {
    const [sendRateLimit] = instances()
    const ask = (_: unknown, n: number) =>
      sendRateLimit?.slot({ number: 'set back', person: `p${n}`, ...RATE })
    await anHourAhead(() => Promise.all(Array.from({ length: 200 }, ask)))
    const slots = await Promise.all(Array.from({ length: 10 }, ask))
    for (const slot of slots) expect((slot?.at ?? 0) - Date.now()).toBeLessThan(60_000)
  })

  test('is by the clock as it is when Redis has answered, also when it was set back meanwhile', async () => {
    const [redis] = connections
    if (redis === undefined) throw new Error('there is no connection')
    let ahead = 3_600_000
    const now = Date.now
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + ahead)
    const setBackMeanwhile = new Proxy(redis, {
      get: (target, name) =>
        name === 'eval'
          ? async (...call: Parameters<Redis['eval']>) => {
              const answer = await target.eval(...call)
              ahead = 0
              return answer
            }
          : Reflect.get(target, name),
    })
    const { slot } = finding(createSendRateLimit(setBackMeanwhile, log))
    const found = await slot({ number: 'set back meanwhile', person: 'p', ...RATE }).finally(() =>
      clock.mockRestore(),
    )
    expect(Math.abs(found.at - Date.now())).toBeLessThan(5_000)
  })

  test('of one number is nothing to another', async () => {
    const [sendRateLimit] = instances()
    for (let n = 0; n < 30; n++) await sendRateLimit?.slot({ number: 'busy', person: `p${n}`, ...RATE })
    const slot = await sendRateLimit?.slot({ number: 'idle', person: 'p', ...RATE })
    expect([slot?.kind, (slot?.at ?? 0) - Date.now() < 10]).toEqual(['reserved', true])
  })
})

describe('the rate to a person', () => {
  test('is a burst of 45, then one each 6 s, and delays no other person', async () => {
    const [sendRateLimit] = instances()
    for (let sent = 0; sent < PERSON_BURST; ) {
      const slot = await sendRateLimit?.slot({ number: 'pairs', person: 'ana', ...RATE })
      if (slot?.kind === 'reserved') sent++
      else await new Promise((resolve) => setTimeout(resolve, Math.max(0, (slot?.at ?? 0) - Date.now())))
    }
    const next = await sendRateLimit?.slot({ number: 'pairs', person: 'ana', ...RATE })
    expect(next?.kind).toBe('later')
    expect((next?.at ?? 0) - Date.now()).toBeGreaterThan(PERSON_INTERVAL_MS - 2_000)
    expect((await sendRateLimit?.slot({ number: 'pairs', person: 'joão', ...RATE }))?.kind).toBe('reserved')
  })
})

test('the rate to a person counts from slot to slot, not from when they were asked for', async () => {
  const [sendRateLimit] = instances()
  const number = 'pairs ahead'
  // The number is busy for a while: this person's first slot is some time ahead, the later ones are less so.
  for (let n = 0; n < 60; n++) await sendRateLimit?.slot({ number, person: `p${n}`, ...RATE })
  const slots: number[] = []
  while (slots.length < PERSON_BURST) {
    const slot = await sendRateLimit?.slot({ number, person: 'ana', ...RATE })
    if (slot?.kind === 'reserved') slots.push(slot.at)
    else await new Promise((resolve) => setTimeout(resolve, Math.max(0, (slot?.at ?? 0) - Date.now())))
  }
  const next = await sendRateLimit?.slot({ number, person: 'ana', ...RATE })
  expect(next?.kind).toBe('later')
  expect(next?.at).toBeGreaterThanOrEqual((slots[0] ?? 0) + PERSON_INTERVAL_MS)
})

test('another slot for a send that missed its own takes of the number', async () => {
  const [sendRateLimit] = instances()
  const keys = { number: 'missed', person: 'ana', ...RATE }
  const before = await sendRateLimit?.slot(keys)
  for (let n = 0; n < PERSON_BURST; n++) await sendRateLimit?.anotherSlot(keys, Date.now())
  const after = await sendRateLimit?.slot({ number: 'missed', person: 'joão', ...RATE })
  expect((after?.at ?? 0) - (before?.at ?? 0)).toBeGreaterThan(PERSON_BURST * NUMBER_INTERVAL_MS)
})

test('another slot for a send moves the rate of its person by as much as it is later, and by no more', async () => {
  const [sendRateLimit] = instances()
  const keys = { number: 'moved', person: 'ana', ...RATE }
  const burst = async (count: number) => {
    for (let sent = 0; sent < count; ) {
      const slot = await sendRateLimit?.slot(keys)
      if (slot?.kind === 'reserved') sent++
      else await new Promise((resolve) => setTimeout(resolve, Math.max(0, (slot?.at ?? 0) - Date.now())))
    }
  }
  const first = await sendRateLimit?.slot(keys)
  const another = await sendRateLimit?.anotherSlot(keys, Date.now() - 5_000)
  await burst(PERSON_BURST - 2)
  const next = await sendRateLimit?.slot(keys)
  const moved = (another?.at ?? 0) - (first?.at ?? 0) + 5_000
  const sinceFirst = (next?.at ?? 0) - (first?.at ?? 0)
  expect(next?.kind).toBe('later')
  expect(sinceFirst).toBeGreaterThanOrEqual(moved)
  expect(sinceFirst).toBeLessThan(moved + PERSON_INTERVAL_MS)
})

test("a number goes on at its rate after Redis's clock was set back, and so does each of its persons", async () => {
  const [sendRateLimit] = instances()
  const keys = { number: 'set back', person: 'ana', ...RATE }
  const anHourLater = Date.now() + 3_600_000
  for (const key of ['pace:{set back}', 'pace:{set back}:ana']) await connections[0]?.set(key, anHourLater)
  const slot = await sendRateLimit?.slot(keys)
  expect(slot?.kind).toBe('reserved')
  expect((slot?.at ?? 0) - Date.now()).toBeLessThan(1_000)
  await connections[0]?.set('pace:{set back}', anHourLater)
  await sendRateLimit?.count(keys)
  expect((await sendRateLimit?.slot(keys))?.kind).toBe('reserved')
})

describe('while Redis is unavailable', () => {
  test('an instance whose clock was ahead does not wait for its time to come again', async () => {
    const [sendRateLimit] = instances()
    proxy.cut()
    const ask = (n: number) => sendRateLimit?.slot({ number: 'alone, set back', person: `p${n}`, ...RATE })
    await anHourAhead(() => Promise.all([1, 2, 3, 4, 5].map(ask)))
    const slot = await ask(6)
    const back = new Promise((resolve) => connections[0]?.once('ready', resolve))
    proxy.mend()
    await back
    expect((slot?.at ?? 0) - Date.now()).toBeLessThan(60_000)
  })

  test('an instance goes on alone at an eighth of the rate, and joins the others again', async () => {
    const [sendRateLimit] = instances()
    proxy.cut()
    const slots: Array<FoundSlot | undefined> = []
    for (let n = 0; n < 5; n++)
      slots.push(await sendRateLimit?.slot({ number: 'alone', person: `p${n}`, ...RATE }))
    const gaps = slots.slice(1).map((slot, n) => (slot?.at ?? 0) - (slots[n]?.at ?? 0))
    expect(slots.every((slot) => slot?.kind === 'reserved')).toBe(true)
    const another = await sendRateLimit?.anotherSlot({ number: 'alone', person: 'p0', ...RATE }, Date.now())
    expect((another?.at ?? 0) - (slots.at(-1)?.at ?? 0)).toBeGreaterThan(NUMBER_INTERVAL_MS * 8 - 5)
    for (const gap of gaps) expect(gap).toBeGreaterThan(NUMBER_INTERVAL_MS * 8 - 5)
    for (let n = 0; n < 8; n++) {
      expect((await sendRateLimit?.slot({ number: 'alone, one person', person: 'ana', ...RATE }))?.kind).toBe(
        'reserved',
      )
    }
    proxy.mend()
    const back = new Promise((resolve) => connections[0]?.once('ready', resolve))
    await back
    const [first, second] = await Promise.all(
      ['a', 'b'].map((person) => sendRateLimit?.slot({ number: 'together', person, ...RATE })),
    )
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(NUMBER_INTERVAL_MS * 2 + 5)
  })
})
