import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { publicJwk } from '@parley/shared/config'
import {
  type Caller,
  createInternalSigner,
  createInternalVerifier,
  SERVICES,
  type ServiceName,
} from '@parley/shared/internal-token'
import jwt from 'jsonwebtoken'
import { z } from 'zod'

const privateJwk = publicJwk.extend({ d: z.string() })

function createKey(kid: string) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = privateJwk.parse({ ...privateKey.export({ format: 'jwk' }), kid })
  const { d: _d, ...published } = jwk
  return { jwk, published }
}

const gateway = createKey('gateway')
const webhook = createKey('webhook')
const jwks = { keys: [gateway.published, webhook.published] }
const verifier = createInternalVerifier({ audience: 'configuration', jwks })
const caller: Caller = {
  account: { _id: 1, username: 'ana@example.com', name: 'Ana', profile: 2, context: {} },
  workspace: { _id: 3, name: 'acme', namespace: 'acme', host: 'acme.example.com' },
  role: { _id: 4, name: 'MEMBER', version: 1 },
}
const sign = (key: typeof gateway, audience: ServiceName, claims?: { caller: Caller }) =>
  createInternalSigner(key.jwk).sign({ audience, ...claims })
const verify = (token: string) => verifier.verify(`Bearer ${token}`)

/** Signs by hand what the signer never would. */
function forge(
  claims: object,
  header: Partial<jwt.JwtHeader>,
  { signedBy = gateway, ...options }: jwt.SignOptions & { signedBy?: typeof gateway } = {},
): string {
  const key = createPrivateKey({ key: signedBy.jwk, format: 'jwk' })
  return jwt.sign(claims, key, {
    algorithm: 'ES256',
    issuer: 'gateway',
    audience: 'configuration',
    expiresIn: 60,
    header: { alg: 'ES256', typ: 'at+jwt', kid: 'gateway', ...header },
    ...options,
  })
}

describe('an internal token', () => {
  test('of the gateway carries the caller', () => {
    const apiCaller = { ...caller, session: 's', token: 5 }
    expect(verify(sign(gateway, 'configuration', { caller }))).toEqual({ issuer: 'gateway', caller })
    expect(verify(sign(gateway, 'configuration', { caller: apiCaller })).caller).toEqual(apiCaller)
  })

  test.each(SERVICES)('is made by %s, and for it', (name) => {
    const key = createKey(name)
    const own = createInternalVerifier({ audience: name, jwks: { keys: [key.published] } })
    expect(own.verify(`Bearer ${sign(key, name)}`)).toEqual({ issuer: name })
  })

  test('names its issuer, that of the key', () => {
    expect(createInternalSigner(gateway.jwk).issuer).toBe('gateway')
    expect(verify(sign(gateway, 'configuration'))).toStrictEqual({ issuer: 'gateway' })
  })

  test('of another service speaks for that service alone', () => {
    expect(verify(sign(webhook, 'configuration'))).toEqual({ issuer: 'webhook' })
    expect(verify(sign(webhook, 'configuration', { caller }))).toEqual({ issuer: 'webhook' })
  })

  const endless = () =>
    jwt.sign({}, createPrivateKey({ key: gateway.jwk, format: 'jwk' }), {
      algorithm: 'ES256',
      issuer: 'gateway',
      audience: 'configuration',
      header: { alg: 'ES256', typ: 'at+jwt', kid: 'gateway' },
    })
  const tampered = () => {
    const [header, , signature] = sign(gateway, 'configuration').split('.')
    return `${header}.${Buffer.from('{"iss":"gateway"}').toString('base64url')}.${signature}`
  }
  test.each<[string, () => string]>([
    ['for another service', () => sign(gateway, 'identity', { caller })],
    ['of an unknown key', () => sign(createKey('dispatcher'), 'configuration')],
    ["of another key under the gateway's name", () => sign(createKey('gateway'), 'configuration')],
    ['of another issuer than its key', () => forge({}, {}, { issuer: 'webhook' })],
    ['of another type', () => forge({}, { typ: 'JWT' })],
    [
      'of an unknown key that is expired as well',
      () => forge({}, {}, { signedBy: createKey('gateway'), expiresIn: -10 }),
    ],
    ['without a key id', () => forge({}, { kid: '' })],
    ['with a caller of another shape', () => forge({ caller: { account: 1 } }, {})],
    ['that was tampered with', tampered],
    ['without an end', endless],
    ['with more behind it', () => `${sign(gateway, 'configuration')} x`],
    ['that is not one', () => 'bad.token.here'],
  ])('%s is refused', (_name, token) => {
    expect(() => verify(token())).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })

  test('must be there', () => {
    expect(() => verifier.verify(undefined)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
    for (const wrong of ['Basic YTpi', `x Bearer ${sign(gateway, 'configuration')}`])
      expect(() => verifier.verify(wrong)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })

  test('without a signature, or signed with a secret that is public, is refused', () => {
    const none = `${Buffer.from('{"alg":"none","typ":"at+jwt","kid":"gateway"}').toString('base64url')}.e30.`
    expect(() => verify(none)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
    const hmac = jwt.sign({}, JSON.stringify(gateway.published), {
      algorithm: 'HS256',
      issuer: 'gateway',
      audience: 'configuration',
      expiresIn: 60,
      header: { alg: 'HS256', typ: 'at+jwt', kid: 'gateway' },
    })
    expect(() => verify(hmac)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })
})

describe('the time of an internal token', () => {
  const START = 1_800_000_000_000
  let seconds = 0
  /** Both clocks stand at so many seconds after the token was signed. */
  const at = (after: number) => {
    seconds = after
    jest.spyOn(Date, 'now').mockImplementation(() => START + seconds * 1_000)
    jest.spyOn(performance, 'now').mockImplementation(() => 1_000_000 + seconds * 1_000)
  }
  afterEach(() => void jest.restoreAllMocks())
  /** The cache of tokens reads the clock once in a millisecond. */
  const clockRead = () => new Promise((resolve) => setTimeout(resolve, 5))
  /** As one that has not seen the token before. */
  const verifyAnew = (token: string) =>
    createInternalVerifier({ audience: 'configuration', jwks }).verify(`Bearer ${token}`)
  const outOfTime = expect.objectContaining({
    code: 'unavailable',
    message: expect.stringContaining('clocks'),
  })

  test('is a minute, with 5 s for clocks that differ; after that it is not the caller who is wrong', () => {
    at(0)
    const token = sign(gateway, 'configuration')
    for (const after of [0, 60, 64]) {
      at(after)
      expect(verifyAnew(token)).toEqual({ issuer: 'gateway' })
    }
    at(65)
    expect(() => verifyAnew(token)).toThrow(outOfTime)
  })

  test('that is still to come is not the caller who is wrong either, but for 5 s', () => {
    at(0)
    expect(verifyAnew(forge({}, {}, { notBefore: 5 }))).toEqual({ issuer: 'gateway' })
    expect(() => verifyAnew(forge({}, {}, { notBefore: 6 }))).toThrow(outOfTime)
  })

  test.each([0, 58, 60, 63])(
    'is not outlived by what is remembered of it, first seen after %i s',
    async (first) => {
      at(0)
      const token = sign(gateway, 'configuration', { caller })
      at(first)
      expect(verify(token)).toEqual({ issuer: 'gateway', caller })
      at(65)
      await clockRead()
      expect(() => verify(token)).toThrow(outOfTime)
    },
  )

  test('is remembered for all of it', async () => {
    at(0)
    const token = sign(gateway, 'configuration', { caller })
    await clockRead()
    const identity = verify(token)
    at(59.9)
    await clockRead()
    expect(verify(token)).toBe(identity)
  })
})
