import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRouter, routes } from '@parley/gateway/routes'
import { SLOTS } from '@parley/shared/messaging/layout'
import { STATUS_PARTITIONS, statusKey } from '@parley/shared/messaging/topology'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { contact, metaChannel, metaMessage, payloadOf, postPayload } from './meta-payload.ts'
import type { Taken } from './take-queues.ts'

interface Document {
  asyncapi: string
  channels: Record<string, { address: string; parameters?: Record<string, { enum: string[] }> }>
  components: { messages: Record<string, { name: string; headers: object; payload: object }> }
}

let world: IntakeWorld
let document: Document
beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(1, metaChannel('line'))
  document = (await (await fetch(`${world.url}/asyncapi.json`)).json()) as Document
}, START_MS)
afterAll(() => world.close(), START_MS)

/** Returns the errors of a delivery according to the document; empty when it is as described. */
function schemaErrorsOf({ delivery }: Pick<Taken, 'delivery'>): unknown[] {
  const { type, headers } = delivery.properties
  const described = Object.values(document.components.messages).find(({ name }) => name === type)
  if (described === undefined) return [`type ${type} is not described`]
  const check = (schema: object, value: unknown) => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
    return validate(value) ? [] : (validate.errors ?? [])
  }
  const payload = JSON.parse(delivery.content.toString())
  return [...check(described.headers, headers), ...check(described.payload, payload)]
}

describe('the AsyncAPI document', () => {
  test('names every routing key', () => {
    expect(document.asyncapi).toBe('3.0.0')
    expect(document.channels.messages?.parameters?.slot?.enum).toHaveLength(SLOTS)
    expect(document.channels.statuses?.parameters?.partition?.enum).toEqual(
      Array.from({ length: STATUS_PARTITIONS }, (_, at) => statusKey(at)),
    )
  })

  test('is public at the gateway', () => {
    expect(createRouter(routes)('/asyncapi.json')).toMatchObject({ upstream: 'webhook', access: 'public' })
  })

  test('describes what is really published, from both webhooks', async () => {
    await world.drain()
    const message = { extId: 'line', user: {}, thread: { extId: null }, answer: { functions: null } }
    const function_ = { name: 'x', args: { template: 't', language: 'pt', variables: ['1'] } }
    await world.post({ ...message, audio: 'a'.repeat(200 * 1024), anything: { else: [1] } })
    await world.post({ ...message, answer: { message: 'x', functions: [function_], submit: { a: 1 } } })
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    await world.post(message, { headers: { traceparent } })
    const hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line`
    const error = { code: 131047, title: 't', error_data: { details: 'd' } }
    await postPayload(
      hook,
      payloadOf({
        contacts: [contact],
        messages: [
          metaMessage('w1', { type: 'text', text: { body: 'x' } }),
          metaMessage('w2', { type: 'new' }),
        ],
        statuses: [
          { id: 'w3', status: 'failed', timestamp: '1760000000', errors: [error, { code: 'odd' }, null] },
          { id: 'w3', status: 'read', timestamp: 1760000000, recipient_id: '1' },
        ],
      }),
    )
    const taken = await world.drain()
    expect(taken).toHaveLength(7)
    expect(taken.flatMap(schemaErrorsOf)).toEqual([])
    expect(taken.some(({ delivery }) => delivery.properties.headers?.traceparent === traceparent)).toBe(true)
  })

  test('would notice a message that is otherwise', async () => {
    await world.post({ extId: 'line', user: {}, thread: {}, answer: {} })
    const [taken] = await world.drain()
    if (taken === undefined) throw new Error('nothing was published')
    const content = Buffer.from(JSON.stringify({ extId: 5, user: {}, thread: {}, answer: { submit: [] } }))
    expect(schemaErrorsOf({ delivery: { ...taken.delivery, content } })).not.toEqual([])
  })
})
