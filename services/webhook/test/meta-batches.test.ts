import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilReady } from '@parley/local/testing/service-under-test'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, metaMessage, payloadOf, postPayload } from './meta-payload.ts'
import type { Taken } from './take-queues.ts'

let world: IntakeWorld
let hook: string
beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(7, metaChannel('line-7'))
  hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line-7`
}, START_MS)
afterAll(() => world.close(), START_MS)

const bodyOf = ({ delivery }: Taken) => JSON.parse(delivery.content.toString())
const idOf = ({ delivery }: Taken): string => delivery.properties.messageId

describe('a batch', () => {
  test('of 1,000 updates and 3 MB: the good ones are taken in order, the malformed ones left out', async () => {
    await world.drain()
    const good = (index: number) =>
      metaMessage(`wamid.batch.${index}`, { type: 'text', text: { body: 'x'.repeat(2_700) } })
    const bad = [
      null,
      'text',
      7,
      [],
      {},
      { id: 5, from: '1' },
      { id: 'w' },
      { from: '1' },
      { id: 'w', from: 1 },
    ]
    const messages = Array.from({ length: 1_000 }, (_, index) =>
      index % 100 < bad.length ? bad[index % 100] : good(index),
    )
    const answer = await postPayload(hook, payloadOf({ messages }))
    const skipped = 10 * bad.length
    expect([answer.status, answer.json]).toEqual([
      200,
      { accepted: 1_000 - skipped, repeated: 0, kept: 0, skipped, foreign: 0 },
    ])
    const ids = (await world.drain()).map((taken) => bodyOf(taken).meta.id)
    expect(ids).toEqual(
      messages.flatMap((_, index) => (index % 100 < bad.length ? [] : [`wamid.batch.${index}`])),
    )
  })

  test('of what was written before the number was connected has thousands, and goes on where it was left', async () => {
    await world.drain()
    const messages = Array.from({ length: 3_000 }, (_, index) =>
      metaMessage(`wamid.past.${index}`, { type: 'text', text: { body: 'x' } }),
    )
    const value = { metadata: {}, history: [{ threads: [{ id: '5511999998888', messages }] }] }
    const payload = { entry: [{ id: '1', changes: [{ field: 'history', value }] }] }
    const counts = await eventually(async () => {
      const { status, json } = await postPayload(hook, payload)
      return status === 200 ? json : undefined
    })
    expect(Number(counts.accepted) + Number(counts.repeated)).toBe(3_000)
    expect(await world.drain()).toHaveLength(3_000)
  })

  test('of more than 10,000 updates or 3 MB is refused', async () => {
    const messages = Array.from({ length: 10_001 }, (_, index) => metaMessage(`w${index}`, {}))
    expect((await postPayload(hook, payloadOf({ messages }))).status).toBe(413)
    expect((await postPayload(hook, payloadOf({ padding: 'x'.repeat(3 * 1024 * 1024) }))).status).toBe(413)
  })

  test.each([
    ['a lone surrogate', '"\\ud800"'],
    ['a key with NUL', '{"\\u0000":1}'],
    ['a number beyond all range', '1e999'],
  ])('goes on after an update with %s', async (_name, text) => {
    await world.drain()
    const body = JSON.stringify(
      payloadOf({ messages: [metaMessage('w-bad', { odd: '@' }), metaMessage(`w-good-${text}`, {})] }),
    )
    expect((await postPayload(hook, body.replace('"@"', text))).json).toMatchObject({
      accepted: 1,
      skipped: 1,
    })
    expect(await world.drain()).toHaveLength(1)
  })

  test.each([
    ['no entry', {}],
    ['entries that are none', { entry: [null, 'x', { changes: 5 }, { changes: [null, { value: 3 }] }] }],
    ['an event of another kind', payloadOf({ event: 'APPROVED' })],
  ])('with %s is taken note of', async (_name, payload) => {
    expect((await postPayload(hook, payload)).status).toBe(200)
  })

  test.each([
    ['that is no JSON', '{"entry":', 400],
    ['that is no object', '[]', 422],
    ['nested beyond all depth', '['.repeat(1_000_000), 422],
  ])('%s is refused', async (_name, body, status) => {
    expect((await postPayload(hook, body)).status).toBe(status)
  })

  test('that is compressed is refused: the signature is over the bytes of the JSON', async () => {
    const answer = await postPayload(hook, '{}', { headers: { 'content-encoding': 'gzip' } })
    expect(answer.status).toBe(415)
  })
})

describe('with the broker unavailable', () => {
  test('Meta gets 503 within 5 s, and what it sends again is one message', async () => {
    await world.drain()
    world.broker.cut()
    const payload = payloadOf({ messages: [metaMessage('wamid.broker', { type: 'text' })] })
    const started = performance.now()
    const answer = await postPayload(hook, payload)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(performance.now() - started).toBeLessThan(5_000)
    world.broker.mend()
    await untilReady(world.url)
    expect((await postPayload(hook, payload)).json).toMatchObject({ accepted: 1 })
    expect(new Set((await world.drain()).map(idOf)).size).toBe(1)
  })
})
