import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilReady } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import type { Caller } from '@parley/shared/internal-token'
import { partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import { LOG_QUEUE } from '@parley/shared/messaging/topology'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'

const message = {
  extId: 'support-line',
  user: { name: 'João', phone: '+5511988887777', ctx: { nested: { a: [1, null, 'é'] } } },
  thread: { extId: 'thread-1', ctx: {} },
  answer: {
    message: 'Olá! 👋',
    functions: [{ name: 'callback', args: { template: 't', variables: ['x'], language: 'pt' } }],
  },
  unknown: { retained: true },
}

let world: IntakeWorld
let caller: Caller
let viewer: Caller
beforeAll(async () => {
  world = await startIntakeWorld()
  caller = world.caller
  viewer = { ...caller, role: { _id: caller.role._id + 2, name: 'VIEWER', version: 1 } }
}, START_MS)
afterAll(() => world.close(), START_MS)

const post: IntakeWorld['post'] = (...given) => world.post(...given)
const drain = () => world.drain()

describe('POST /api/hooks/whatsapp', () => {
  test('echoes the message byte for byte and publishes it to the partition of its thread', async () => {
    await drain()
    const text = JSON.stringify(message)
    const answer = await post(text)
    expect([answer.status, answer.text]).toEqual([200, text])
    const [published, ...rest] = await drain()
    expect(rest).toEqual([])
    expect(published?.queue).toBe(
      testQueue(partitionOfSlot(slotOf(caller.workspace._id, 'thread-1'), TEST_LAYOUT)),
    )
    expect(published?.delivery.content.toString()).toBe(text)
    expect(published?.delivery.properties).toMatchObject({
      messageId: answer.headers.get('x-message-id'),
      type: 'message.received.v1',
      contentType: 'application/json',
      deliveryMode: 2,
      headers: {
        workspace: caller.workspace._id,
        channel: 'support-line',
        thread: 'thread-1',
        source: 'api',
      },
    })
  })

  test('echoes and publishes numbers that no double prints, but for those that would be stored as other ones', async () => {
    await drain()
    const text = JSON.stringify({ ...message, user: { ctx: { id: 0 } } })
      .replace('"id":0', '"id":1917043659912705296,"rate":0.1000000000000000055')
      .replace('"template":"t"', '"order":725653563933458432,"template":"t"')
    const answer = await post(text)
    expect([answer.status, answer.text]).toEqual([200, text])
    const [published] = await drain()
    expect(published?.delivery.content.toString()).toBe(text)
    const submit = text.replace('"answer":{', '"answer":{"submit":{"a":[1917043659912705296]},')
    const refused = await post(submit)
    expect([refused.status, refused.json.errors]).toEqual([
      422,
      [
        {
          path: '/answer/submit/a/0',
          code: 'number_inexact',
          message: 'is an integer that would be changed: send it as a text',
        },
      ],
    ])
  })

  test('warns at once that the workspace has no channel with this extId, and not once there is one', async () => {
    const extId = 'a-line-that-comes-later'
    const warning = async () => {
      const { status, headers } = await post({ ...message, extId })
      return [status, headers.get('parley-warning')]
    }
    expect(await warning()).toEqual([200, 'unknown-channel'])
    expect(await warning()).toEqual([200, 'unknown-channel'])
    const channel = {
      name: '',
      description: '',
      hook: 'rpc',
      callback: 'rpc',
      handlerUrl: 'native:agents/echo',
    }
    await world.putChannel(77, { ...channel, extId, config: {} })
    await eventually(async () => (await warning())[1] === null)
  })

  test('two equal posts are two messages', async () => {
    await drain()
    const ids = [await post(message), await post(message)].map(({ headers }) => headers.get('x-message-id'))
    expect(new Set((await drain()).map(({ delivery }) => delivery.properties.messageId))).toEqual(
      new Set(ids),
    )
    expect(new Set(ids).size).toBe(2)
  })

  test.each([
    ['malformed JSON', '{"extId": ', 400, 'malformed_json'],
    ['no channel', { ...message, extId: undefined }, 422, 'validation_failed'],
    ['a user that is text', { ...message, user: 'x' }, 422, 'validation_failed'],
    ['more than 1 MiB', { ...message, input: 'x'.repeat(1024 * 1024) }, 413, 'body_too_large'],
    ['a lone surrogate', '{"extId":"\\ud800","user":{},"thread":{},"answer":{}}', 422, 'validation_failed'],
  ])('%s is refused, and nothing is published', async (_name, body, status, code) => {
    await drain()
    const answer = await post(body)
    expect([answer.status, answer.json.code]).toEqual([status, code])
    expect(await drain()).toEqual([])
  })

  test('a role that may not write messages is refused', async () => {
    expect((await post(message, { as: viewer })).json.code).toBe('forbidden')
  })

  test('a role that may write to one channel posts to that one alone, whatever else its body names', async () => {
    const write = "{{doc.channel}} == 'support-line'"
    const provider = await world.inRole([{ schema: "{{resource}} == 'messages'", read: 'false', write }])
    expect((await post(message, { as: provider })).status).toBe(200)
    for (const body of [
      { ...message, extId: 'sales' },
      { ...message, extId: 'sales', channel: 'support-line', doc: { channel: 'support-line' } },
    ])
      expect((await post(body, { as: provider })).json.code).toBe('forbidden')
  })

  test('only POST is allowed, and only with an inner token', async () => {
    const wrong = await fetch(`${world.url}/api/hooks/whatsapp`)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    const anonymous = await fetch(`${world.url}/api/hooks/whatsapp`, { method: 'POST' })
    expect(anonymous.status).toBe(401)
  })

  test('every message is in the log stream', async () => {
    const id = (await post(message)).headers.get('x-message-id')
    const seen: string[] = []
    const log = await world.connection.createChannel()
    await log.prefetch(100)
    await log.consume(
      LOG_QUEUE,
      (delivery) => {
        if (delivery === null) return
        seen.push(delivery.properties.messageId)
        log.ack(delivery)
      },
      { arguments: { 'x-stream-offset': 'first' } },
    )
    await eventually(() => seen.find((one) => one === id))
    await log.close()
  })
})

describe('an idempotency key', () => {
  test('makes a repeat the same message with the same answer', async () => {
    await drain()
    const first = await post(message, { key: 'k-repeat' })
    const second = await post(message, { key: 'k-repeat' })
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
    expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(second.headers.get('x-message-id')).toBe(first.headers.get('x-message-id'))
    expect(await drain()).toHaveLength(1)
  })

  test('used 200 times at once makes one message', async () => {
    await drain()
    const responses = await Promise.all(Array.from({ length: 200 }, () => post(message, { key: 'k-burst' })))
    const statuses = new Set(responses.map(({ status }) => status))
    expect([...statuses].every((status) => status === 200 || status === 409)).toBe(true)
    expect(
      responses.filter(({ status }) => status === 409).every(({ headers }) => headers.has('retry-after')),
    ).toBe(true)
    expect(await drain()).toHaveLength(1)
  })

  test('with another body is refused', async () => {
    await post(message, { key: 'k-other' })
    expect((await post({ ...message, input: 'more' }, { key: 'k-other' })).json.code).toBe(
      'idempotency_key_reused',
    )
  })

  test('that is empty, too long or not ASCII is refused', async () => {
    for (const key of ['', 'x'.repeat(256), 'a b', 'é'])
      expect((await post(message, { key })).status).toBe(422)
  })

  test('is worth as much with Redis unavailable: the same id, so the store knows the repeat', async () => {
    await drain()
    const first = await post(message, { key: 'k-unavailable' })
    world.redis.cut()
    const second = await post(message, { key: 'k-unavailable' })
    world.redis.mend()
    expect([second.status, second.headers.get('x-message-id')]).toEqual([
      200,
      first.headers.get('x-message-id'),
    ])
    const ids = (await drain()).map(({ delivery }) => delivery.properties.messageId)
    expect(new Set(ids).size).toBe(1)
    await untilReady(world.url)
  })
})

describe('with the broker unavailable', () => {
  test('posts get 503 with Retry-After within 5 s, and 200 again when it is back', async () => {
    await drain()
    world.broker.cut()
    const started = performance.now()
    const answer = await post(message, { key: 'k-broker' })
    expect([answer.status, answer.json.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ])
    expect(performance.now() - started).toBeLessThan(5_000)
    expect((await fetch(`${world.url}/health/ready`)).status).toBe(503)
    world.broker.mend()
    await untilReady(world.url)
    expect((await post(message, { key: 'k-broker' })).status).toBe(200)
    expect(new Set((await drain()).map(({ delivery }) => delivery.properties.messageId)).size).toBe(1)
  })

  test('a request under way gets a response and is not left hanging', async () => {
    const posts = Array.from({ length: 50 }, () => post(message))
    world.broker.cut()
    const statuses = (await Promise.all(posts)).map(({ status }) => status)
    world.broker.mend()
    await untilReady(world.url)
    const confirmed = statuses.filter((status) => status === 200).length
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
    expect((await drain()).length).toBeGreaterThanOrEqual(confirmed)
  })
})
