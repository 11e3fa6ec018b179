import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

const OTHER = 77_001
const MANY = 400
const DRAIN_MS = 180_000

let world: DispatchWorld
let handler: CallEndpoint
let callbacks: CallEndpoint
/** Calls of the handler that nobody has answered. */
let hanging: ServerResponse[] = []
let ended = 0

beforeAll(async () => {
  handler = await startCallEndpoint()
  callbacks = await startCallEndpoint()
  handler.respond = (_call, res) => {
    hanging.push(res)
    res.on('close', () => ended++)
  }
  world = await startDispatchWorld()
  const channel = {
    name: 'Support',
    description: '',
    extId: 'line',
    hook: 'whatsapp',
    callback: 'rpc',
    config: { callbackUrl: `${callbacks.url}/callback` },
  }
  await world.putChannel(1, { ...channel, handlerUrl: `${handler.url}/hangs` })
  await world.putChannel(1, { ...channel, handlerUrl: 'native:agents/echo' }, { workspace: OTHER })
})
afterAll(async () => {
  await world.close()
  await Promise.all([handler.close(), callbacks.close()])
})

const message = (thread: string) => ({
  extId: 'line',
  user: {},
  thread: { extId: thread },
  answer: {},
  input: 'hello',
})

describe('a handler that hangs', () => {
  test('delays no message of another workspace, whose answers are sent before a single of its calls ends', async () => {
    await Promise.all(
      Array.from({ length: MANY }, (_, n) => world.post(`hangs-${n}`, message(`thread-${n}`))),
    )
    await eventually(() => hanging.length > 0)
    const others = Array.from({ length: 32 }, (_, n) => `other-${n}`)
    await Promise.all(others.map((id) => world.post(id, message(id), { workspace: OTHER })))
    await eventually(() => {
      const came = new Set(callbacks.calls.map(({ json }) => json.messageId))
      return others.every((id) => came.has(id))
    })
    expect(ended).toBe(0)
  })

  test('has at most 256 calls at once from one workspace', () => {
    expect(hanging.length).toBeLessThanOrEqual(256)
  })

  test('is left alone after a while: its messages wait without being tried, and say for what', async () => {
    const open = await eventually(async () => {
      const opened = await world.metric('parley_circuit_breakers_open')
      return opened.get('') === 1
    })
    expect(open).toBe(true)
    const waiting = await eventually(async () => {
      const found = await world.database
        .collection<{ _id: string; tries: number }>('messages')
        .findOne({ waitingFor: 'circuit_breaker', tries: 0 })
      return found ?? undefined
    })
    const { json } = await world.get(`/rest/messages/${waiting._id}`)
    expect(json).toMatchObject({
      state: 'received',
      waitingFor: 'circuit_breaker',
      attempts: [],
      due: expect.any(String),
      reason: expect.stringMatching(/^127\.0\.0\.1:\d+ has not answered lately/),
    })
  })

  test(
    'gets all that were never tried once it answers, each is delivered once, and none is dead',
    async () => {
      const answer = JSON.stringify({ ...message('t'), answer: { message: 'now' } })
      handler.respond = (_call, res) =>
        void res.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      for (const res of hanging) res.destroy()
      hanging = []
      const collection = world.database.collection('messages')
      const own = { workspace: world.workspace }
      // Those that were tried wait by their normal schedule, which is up to hours.
      const untried = () => collection.countDocuments({ ...own, open: true, tries: 0 })
      const deadline = performance.now() + DRAIN_MS
      while ((await untried()) > 0) {
        if (performance.now() > deadline) throw new Error('messages that were never tried are still open')
        await new Promise((resolve) => setTimeout(resolve, 250))
      }
      // One read: what is tried again goes on meanwhile.
      const all = await collection.find(own).toArray()
      expect(all).toHaveLength(MANY)
      const delivered = all.filter(({ state }) => state === 'delivered')
      expect(all.filter(({ open, state }) => open !== true && state !== 'delivered')).toEqual([])
      expect(delivered.length).toBeGreaterThan(MANY / 2)
      const ids = callbacks.calls.map(({ json }) => json.messageId as string)
      expect(new Set(ids).size).toBe(ids.length)
    },
    DRAIN_MS + 10_000,
  )
})
