import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import { RANDOM_BODIES } from '../../../tests/sizes.ts'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, metaMessage, payloadOf, postPayload } from './meta-payload.ts'

let world: IntakeWorld
let hook: string
beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(1, metaChannel('line'))
  hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line`
}, START_MS)
afterAll(() => world.close(), START_MS)

const message = { extId: 'line', user: {}, thread: { extId: 't' }, answer: {} }
const [fits, tooLong] = ['x'.repeat(1_024), 'x'.repeat(1_025)]

describe('an id of over 1,024 characters is the caller’s mistake, and says where it is:', () => {
  test.each([
    ['/extId', (id: string) => ({ ...message, extId: id })],
    ['/thread/extId', (id: string) => ({ ...message, thread: { extId: id } })],
    ['/user/phone', (id: string) => ({ ...message, user: { phone: id } })],
  ])('%s', async (path, withId) => {
    expect((await world.post(withId(fits))).status).toBe(200)
    for (const id of [tooLong, 'x'.repeat(70_000), 'é'.repeat(500_000)]) {
      const { status, json } = await world.post(withId(id))
      expect([status, json.code, json.errors[0].path]).toEqual([422, 'validation_failed', path])
    }
  })

  test('the Idempotency-Key', async () => {
    const { status, json } = await world.post(message, { key: 'x'.repeat(256) })
    expect([status, json.errors[0].path]).toEqual([422, '/Idempotency-Key'])
  })

  test('a channel’s extId in the path of a webhook', async () => {
    const long = `${world.url}/api/hooks/whatsapp/${world.slug}/${'@'.repeat(10_000)}`
    expect((await postPayload(long, payloadOf({}))).status).toBe(404)
    expect((await fetch(`${long}?hub.mode=subscribe`)).status).toBe(404)
  })
})

describe('a time to send at', () => {
  const DAY_MS = 24 * 60 * 60_000
  const at = (ms: number) => new Date(Date.now() + ms).toISOString()
  const answer = { message: 'Later' }

  test.each([
    ['of less than 30 days from now is taken', { sendAt: at(30 * DAY_MS - 600_000), answer }, undefined],
    ['in the past is taken', { sendAt: at(-DAY_MS), answer }, undefined],
    ['later than that is refused', { sendAt: at(30 * DAY_MS + 600_000), answer }, 'too_big'],
    ['of a message without an answer is refused', { sendAt: at(DAY_MS) }, 'not_allowed'],
    ['without an offset is refused', { sendAt: '2030-01-01T00:00:00', answer }, 'invalid_format'],
    ['that is no day is refused', { sendAt: '2030-02-30T00:00:00Z', answer }, 'invalid_format'],
  ])('%s', async (_what, more, code) => {
    const { status, json } = await world.post({ ...message, ...more })
    expect([status, json.errors?.[0]]).toMatchObject(
      code === undefined ? [200, undefined] : [422, { path: '/sendAt', code }],
    )
  })
})

describe('of a batch of Meta’s', () => {
  const text = { type: 'text', text: { body: 'x' } }
  const status = (id: string) => ({ id, status: 'sent', timestamp: '1760000000', recipient_id: '1' })

  test('what has an id that is too long is skipped, counted and shown, and the rest is accepted', async () => {
    await world.drain()
    const payload = payloadOf({
      messages: [
        metaMessage(`wamid.${tooLong}`, text),
        metaMessage('wamid.1', text),
        { ...metaMessage('wamid.2', text), from: 'y'.repeat(100_000) },
        metaMessage('wamid.3', text),
      ],
      statuses: [
        status(tooLong),
        { ...status('wamid.4'), biz_opaque_callback_data: tooLong },
        status('wamid.5'),
      ],
    })
    const answer = await postPayload(hook, payload)
    expect([answer.status, answer.json]).toEqual([
      200,
      { accepted: 3, repeated: 0, kept: 0, skipped: 4, foreign: 0 },
    ])
    const published = (await world.drain()).map(({ delivery }) => JSON.parse(delivery.content.toString()))
    expect(published.map(({ meta, providerId }) => meta?.id ?? providerId).sort()).toEqual([
      'wamid.1',
      'wamid.3',
      'wamid.5',
    ])
    const shown = await eventually(async () => {
      const list = await fetch(`${world.url}/rest/hooks`, { headers: world.as('webhook') })
      const { data } = (await list.json()) as { data: { lastError: { code: string } | null }[] }
      return data[0]?.lastError ?? undefined
    })
    expect(shown.code).toBe('updates_skipped')
  })
})

describe('whatever a caller sends', () => {
  const sizes = [0, 1, 255, 256, 1_024, 1_025, 16_384, 65_536, 131_072, 400_000]
  const long = fc.tuple(fc.constantFrom(...sizes), fc.constantFrom('x', 'é', '\u{1f44b}', '\u0000', '~', '$'))
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    long.map(([size, character]) => character.repeat(size)),
  )
  const value = fc.oneof(
    text,
    fc.jsonValue({ maxDepth: 5 }),
    fc.double(),
    fc.constantFrom(Number.MAX_VALUE, -0, 1e-320, Number.MAX_SAFE_INTEGER + 2, null),
    fc.integer({ min: 0, max: 40 }).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth) || '0')),
  )
  const maybe = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof(arbitrary, value)
  const object = (shape: Record<string, fc.Arbitrary<unknown>>) =>
    fc
      .tuple(
        fc.record(shape, { requiredKeys: [], noNullPrototype: true }),
        fc.dictionary(text, value, { maxKeys: 2 }),
      )
      .map(([known, more]) => ({ ...known, ...more }))
  const posted = object({
    extId: maybe(text),
    user: maybe(object({ name: text, phone: text, email: text, ctx: value })),
    thread: maybe(object({ extId: text, ctx: value })),
    answer: maybe(object({ message: text, functions: fc.array(value, { maxLength: 3 }), submit: value })),
    input: maybe(text),
    audio: maybe(text),
  })
  const header = fc.oneof(
    fc.string({ unit: 'grapheme-ascii' }),
    long.map(([size]) => 'x'.repeat(Math.min(size, 3_000))),
  )

  test('is never answered with 5xx at the webhook for callers', async () => {
    const property = fc.asyncProperty(
      posted,
      fc.option(header, { nil: undefined }),
      header,
      async (body, key, traceparent) => {
        const sent = { ...message, ...body }
        const { status, text } = await world.post(sent, {
          headers: {
            traceparent: traceparent.trim(),
            ...(key?.trim() ? { 'idempotency-key': key.trim() } : {}),
          },
        })
        expect([status < 500, status < 500 || text]).toEqual([true, true])
      },
    )
    await fc.assert(property, { numRuns: RANDOM_BODIES })
  }, 300_000)

  test('is never answered with 5xx at Meta’s, when it is signed', async () => {
    const item = maybe(
      object({
        id: text,
        from: text,
        wa_id: text,
        timestamp: maybe(fc.constant('1760000000')),
        type: text,
        status: text,
        recipient_id: text,
        biz_opaque_callback_data: text,
        errors: fc.array(value),
        text: object({ body: text }),
      }),
    )
    const items = maybe(fc.array(item, { maxLength: 5 }))
    const value_ = object({ messages: items, statuses: items, contacts: items })
    const property = fc.asyncProperty(value_, async (sent) => {
      const { status } = await postPayload(hook, payloadOf(sent))
      expect(status).toBeLessThan(500)
    })
    await fc.assert(property, { numRuns: RANDOM_BODIES })
  }, 300_000)
})
