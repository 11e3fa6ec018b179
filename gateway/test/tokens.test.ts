import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { createInternalSigner } from '@parley/shared/internal-token'
import jwt from 'jsonwebtoken'
import { systemForTests } from './gateway-system.ts'

const system = systemForTests()
let user: Parsed
let kid: string

beforeAll(async () => {
  user = await system.register()
  kid = jwt.decode(user.accessToken, { complete: true })!.header.kid!
})

const PATH = '/rest/channels/1'
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = () => jwt.decode(user.accessToken) as jwt.JwtPayload

/** Signs with ES256 whatever header and payload say. */
function forge(key: KeyObject, header: object, payload: object): string {
  const pem = key.export({ type: 'pkcs8', format: 'pem' })
  return jwt.sign(payload, pem, {
    algorithm: 'ES256',
    header: { alg: 'ES256', ...header },
    noTimestamp: true,
  })
}

async function expectRefused(token: string) {
  const { status, json, headers } = await system.call('GET', PATH, { token })
  expect([status, json.code]).toEqual([401, 'unauthenticated'])
  expect(headers.get('www-authenticate')).toMatch(/^Bearer/)
  expect(system.backends.configuration.requests).toEqual([])
}

describe('the gateway refuses', () => {
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  /** These would need identity's own key; the service keys are the next best that could leak. */
  const own = () => createPrivateKey({ key: system.keys.own.identity, format: 'jwk' })

  test.each(['', 'x', 'bad.token.here', 'a.b', '..', 'é.é.é'])('the text %j as a token', async (token) => {
    await expectRefused(encodeURI(token))
  })

  test.each<[string, () => string | undefined]>([
    ['no header at all', () => undefined],
    ['another scheme', () => 'Basic dXNlcjp4'],
    ['a token without a scheme', () => user.accessToken],
    ['another scheme before it', () => `Basic dXNlcjp4, Bearer ${user.accessToken}`],
    ['another scheme behind it', () => `Bearer ${user.accessToken}, Basic dXNlcjp4`],
  ])('%s', async (_what, authorization) => {
    const value = authorization()
    const headers = value === undefined ? {} : { authorization: value }
    expect((await system.call('GET', PATH, { headers })).status).toBe(401)
  })

  test('a tampered payload', async () => {
    const [header, , signature] = user.accessToken.split('.')
    await expectRefused(`${header}.${encode({ ...claims(), sub: '999' })}.${signature}`)
  })

  test('a tampered signature', async () => {
    const [header, payload, signature] = user.accessToken.split('.')
    const flipped = Buffer.from(signature, 'base64url')
    flipped[10]! ^= 1
    await expectRefused(`${header}.${payload}.${flipped.toString('base64url')}`)
    await expectRefused(`${header}.${payload}.`.replace(/\.$/, '.AA'))
  })

  test('alg none, in any spelling', async () => {
    for (const alg of ['none', 'None', 'NONE'])
      for (const signature of ['', 'AA'])
        await expectRefused(`${encode({ alg, typ: 'at+jwt', kid })}.${encode(claims())}.${signature}`)
  })

  test('HS256 signed with the public key', async () => {
    const { keys } = (await system.call('GET', '/.well-known/jwks.json')).json
    const jwk = keys.find((key: { kid: string }) => key.kid === kid)
    const pem = (await import('node:crypto'))
      .createPublicKey({ key: jwk, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' })
    for (const secret of [pem, JSON.stringify(jwk), `${jwk.x}${jwk.y}`]) {
      const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${encode(claims())}`
      await expectRefused(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`)
    }
  })

  test('a token signed with an unknown key, also when the token contains that key', async () => {
    const jwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'mine' }
    const jku = `${system.backends.webhook.url}/jwks.json`
    for (const header of [{ kid }, { kid: 'mine', jwk }, { kid, jwk }, { kid, jku }, { kid, x5u: jku }])
      await expectRefused(forge(stranger.privateKey, { typ: 'at+jwt', ...header }, claims()))
    expect(system.backends.webhook.requests).toEqual([])
  })

  test('a token signed with the key of a service', async () => {
    for (const name of ['identity', kid])
      await expectRefused(forge(own(), { typ: 'at+jwt', kid: name }, claims()))
  })

  test('an internal token from outside', async () => {
    const signer = createInternalSigner(system.keys.own.gateway)
    await system.call('GET', PATH, { token: user.accessToken })
    const caller = system.backends.configuration.verifier.verify(
      system.backends.configuration.requests.pop()?.headers.authorization,
    ).caller!
    for (const audience of ['configuration', 'gateway', 'identity'] as const)
      await expectRefused(signer.sign({ audience, caller }))
  })
})

describe('a token whose claims are wrong is refused although identity’s key signed it', () => {
  let key: KeyObject
  beforeAll(async () => {
    // Puts a key of the test's own into identity's ring, as if its private part had been read out of it.
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    key = pair.privateKey
    const publicJwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'known', alg: 'ES256', use: 'sig' }
    const { database } = system.identity
    await database.collection('keyRings').updateOne({}, { $set: { previous: { kid: 'known', publicJwk } } })
    const sound = () => forge(key, { typ: 'at+jwt', kid: 'known' }, claims())
    const deadline = Date.now() + 20_000
    while ((await system.call('GET', PATH, { token: sound() })).status !== 200)
      if (Date.now() > deadline) throw new Error('the key did not become known')
    system.backends.configuration.requests.length = 0
  })

  const now = () => Math.floor(Date.now() / 1000)
  test.each([
    ['expired', { exp: now() - 60 }],
    ['not yet valid', { nbf: now() + 3_600 }],
    ['of another issuer', { iss: 'urn:parley:gateway' }],
    ['for another audience', { aud: 'configuration' }],
    ['without audience', { aud: undefined }],
    ['without expiry', { exp: undefined }],
    ['without session', { sid: undefined }],
    ['of another session', { sid: 'other' }],
    ['of no account', { sub: 'x' }],
    ['of another account', { sub: '424242' }],
  ])('%s', async (_what, change) => {
    await expectRefused(
      forge(key, { typ: 'at+jwt', kid: 'known' }, JSON.parse(encodeless({ ...claims(), ...change }))),
    )
  })

  test.each([
    ['JWT', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['a critical extension', { typ: 'at+jwt', crit: ['b64'], b64: true }],
  ])('of type %s', async (_what, header) => {
    await expectRefused(forge(key, { kid: 'known', ...header }, claims()))
  })
})

describe('a refusal says what is wrong with the token, as RFC 6750', () => {
  const refusal = async (headers: Record<string, string>) => {
    const { status, json, headers: received } = await system.call('GET', PATH, { headers })
    return [status, json.detail, received.get('www-authenticate')]
  }
  const withError = (text: string) =>
    `Bearer realm="parley", error="invalid_token", error_description="${text}"`

  test('it is missing', async () => {
    expect(await refusal({})).toEqual([401, expect.stringContaining('is missing'), 'Bearer realm="parley"'])
  })

  test('it is malformed', async () => {
    const text = 'The token is malformed, or not one of this system.'
    const values = ['Basic dXNlcjp4', 'Bearer', 'Bearer a.b.c', `Bearer ${user.accessToken.slice(0, -4)}AAAA`]
    for (const authorization of values)
      expect(await refusal({ authorization })).toEqual([401, text, withError(text)])
  })

  test('an API token expired, and when', async () => {
    const created = await system.call('POST', '/api/auth/tokens', {
      token: user.accessToken,
      body: { name: 'old', role: 'VIEWER', expiresInDays: 1 },
    })
    const expiresAt = new Date(Date.now() - 5_000)
    await system.identity.database
      .collection<{ _id: number }>('apiTokens')
      .updateOne({ _id: created.json._id }, { $set: { expiresAt } })
    const text = `The token expired at ${expiresAt.toISOString()}.`
    expect(await refusal({ authorization: `Bearer ${created.json.token}` })).toEqual([
      401,
      text,
      withError(text),
    ])
  })

  test('its session was ended', async () => {
    const other = await system.register()
    const { sid } = jwt.decode(other.accessToken) as { sid: string }
    await system.identity.database.collection<{ _id: string }>('sessions').deleteOne({ _id: sid })
    const text = 'The token was revoked, or its session has ended.'
    expect(await refusal({ authorization: `Bearer ${other.accessToken}` })).toEqual([
      401,
      text,
      withError(text),
    ])
  })
})

const encodeless = (value: unknown) => JSON.stringify(value)

describe('the gateway’s cache', () => {
  /** Identity's requests about callers, without those for changes each second. */
  const asked = () => system.identity.service.requests.filter((path) => !path.includes('/internal/changes'))

  test('sends identity one request for many that come at once with a new token', async () => {
    const fresh = await system.register()
    system.identity.service.requests.length = 0
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => system.call('GET', PATH, { token: fresh.accessToken })),
    )
    expect(responses.every(({ status }) => status === 200)).toBe(true)
    expect(asked()).toEqual(['/internal/introspect'])
    await system.call('GET', PATH, { token: fresh.accessToken })
    expect(asked()).toHaveLength(1)
  })

  test('does not ask identity for each token with an unknown key', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    system.identity.service.requests.length = 0
    for (let i = 0; i < 30; i++)
      expect(
        (
          await system.call('GET', PATH, {
            token: forge(privateKey, { typ: 'at+jwt', kid: `k${i}` }, claims()),
          })
        ).status,
      ).toBe(401)
    expect(asked().length).toBeLessThanOrEqual(2)
  })

  test('serves known callers while identity is unavailable, others get 503, and all recovers by itself', async () => {
    const known = await system.register()
    const unknown = await system.register()
    await system.call('GET', PATH, { token: known.accessToken })
    system.identity.service.unavailable = true
    expect((await system.call('GET', PATH, { token: known.accessToken })).status).toBe(200)
    const { status, json, headers } = await system.call('GET', PATH, { token: unknown.accessToken })
    expect([status, json.code]).toEqual([503, 'unavailable'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await system.call('POST', '/api/auth/login', { body: {} })).status).toBe(503)
    system.identity.service.unavailable = false
    expect((await system.call('GET', PATH, { token: unknown.accessToken })).status).toBe(200)
  })
})
