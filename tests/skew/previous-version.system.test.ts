import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { readDelivery } from '@parley/dispatcher/intake/read-delivery'
import { readStatus } from '@parley/dispatcher/statuses/read-status'
import { makeServiceKeys, type Parsed } from '@parley/local/testing/service-under-test'
import { documentChange } from '@parley/shared/document-change'
import { callerSchema, createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import { webhookMessage } from '@parley/shared/message'
import { messageStatus } from '@parley/shared/message-status'
import { messagePublication, statusPublication } from '@parley/shared/messaging/message-publication'
import { taskSubmission } from '@parley/shared/task-submission'
import jwt from 'jsonwebtoken'

/** The messages of version 0.1's services on the wire. It is never edited; a version that changes it adds its own. */
const wire: Parsed = JSON.parse(readFileSync(new URL('wire-0.1.json', import.meta.url), 'utf8'))

const delivery = ({ properties, body }: Parsed) => ({
  properties,
  content: Buffer.from(JSON.stringify(body)),
})
const withMore = (object: Parsed) => ({ ...object, addedLater: { deep: [1, null] } })

/** Every field of `old` with the type it had; what was added since is not looked at. */
function expectToContain(now: Parsed, old: Parsed, path = ''): void {
  for (const [key, value] of Object.entries(old)) {
    const here = `${path}/${key}`
    expect([here, typeof now?.[key]]).toEqual([here, typeof value])
    if (typeof value === 'object' && value !== null) expectToContain(now[key], value, here)
  }
}

describe('what the previous version publishes is understood', () => {
  test('messages', () => {
    const reading = readDelivery(delivery(wire.message) as never)
    expect(reading).toMatchObject({
      kind: 'message',
      message: { _id: wire.message.properties.messageId, workspace: 7, thread: 'order-4711' },
    })
  })

  test('statuses', () => {
    expect(readStatus(delivery(wire.status) as never)).toMatchObject({
      kind: 'known',
      known: {
        send: { messageId: wire.message.properties.messageId, index: 0 },
        status: { state: 'delivered' },
      },
    })
  })

  test.each([
    ['submissions', taskSubmission, wire.submission],
    ['changes', documentChange, wire.change],
  ])('%s', (_name, schema, body) => {
    expect(schema.safeParse(body)).toMatchObject({ success: true })
  })
})

describe('what this version publishes is understood by the previous one', () => {
  const { properties, body } = wire.message
  const { headers } = properties

  test('messages have every field they had, with its type', () => {
    const message = webhookMessage.parse(body)
    const published = messagePublication({
      messageId: properties.messageId,
      message,
      body: Buffer.from(JSON.stringify(message)),
      provenance: {
        workspace: headers.workspace,
        source: headers.source,
        channelId: headers.channelId,
        requestId: headers.requestId,
        traceparent: headers.traceparent,
      },
    })
    expect(published).toMatchObject({ messageId: properties.messageId, type: properties.type })
    expectToContain(published.headers, headers)
    expectToContain(JSON.parse(published.body.toString()), body)
  })

  test('statuses have every field they had, with its type', () => {
    const { workspace, requestId } = wire.status.properties.headers
    const published = statusPublication({
      messageId: wire.status.properties.messageId,
      status: messageStatus.parse(wire.status.body),
      provenance: { workspace, source: 'meta', channelId: undefined, requestId, traceparent: undefined },
    })
    expect(published.type).toBe(wire.status.properties.type)
    expectToContain(published.headers, wire.status.properties.headers)
    expectToContain(JSON.parse(published.body.toString()), wire.status.body)
  })
})

describe('fields that a later version adds do no harm', () => {
  test('to messages and their headers', () => {
    const { properties, body } = wire.message
    const later = {
      properties: { ...properties, headers: withMore(properties.headers) },
      body: withMore(body),
    }
    const reading = readDelivery(delivery(later) as never)
    expect(reading.kind).toBe('message')
    // Whoever understands them gets them.
    if (reading.kind === 'message') expect(JSON.parse(reading.message.body)).toEqual(later.body)
  })

  test('to statuses, submissions and changes', () => {
    const status = { ...wire.status, body: withMore(wire.status.body) }
    expect(readStatus(delivery(status) as never).kind).toBe('known')
    expect(taskSubmission.safeParse(withMore(wire.submission)).success).toBe(true)
    expect(documentChange.safeParse(withMore(wire.change)).success).toBe(true)
  })

  test.each(['message.received.v2', 'message.status.v2', undefined])(
    'but type %s is not guessed at',
    (type) => {
      for (const read of [readDelivery, readStatus]) {
        const { properties, body } = wire.message
        expect(read(delivery({ properties: { ...properties, type }, body }) as never).kind).toBe('rejected')
      }
    },
  )
})

describe('internal tokens', () => {
  const keys = makeServiceKeys()
  const key = createPrivateKey({ key: keys.own.gateway, format: 'jwk' })
  const { header, claims } = wire.internalToken
  const sign = (payload: object) => jwt.sign(payload, key, { algorithm: 'ES256', expiresIn: 60, header })
  const verify = (token: string) =>
    createInternalVerifier({ audience: 'dispatcher', jwks: keys.jwks }).verify(`Bearer ${token}`)

  test('of the previous version hold', () => {
    expect(verify(sign(claims))).toEqual({ issuer: 'gateway', caller: claims.caller })
  })

  test('of a later version hold, with what it adds left out', () => {
    const later = withMore({
      ...claims,
      caller: withMore({ ...claims.caller, role: withMore(claims.caller.role) }),
    })
    expect(verify(sign(later))).toEqual({ issuer: 'gateway', caller: claims.caller })
  })

  test('of this version have every claim they had, with its type', () => {
    const caller = callerSchema.parse(claims.caller)
    const token = createInternalSigner(keys.own.gateway).sign({ audience: 'dispatcher', caller })
    const decoded = jwt.decode(token, { complete: true })
    expectToContain(decoded?.header, header)
    expectToContain(decoded?.payload, claims)
  })
})
