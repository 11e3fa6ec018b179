import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { publicJwk } from '@parley/shared/config'
import {
  type Caller,
  createInternalSigner,
  createInternalVerifier,
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
    expect(verify(sign(gateway, 'configuration', { caller }))).toEqual({ issuer: 'gateway', caller })
  })

  test('of another service speaks for that service alone', () => {
    expect(verify(sign(webhook, 'configuration'))).toEqual({ issuer: 'webhook' })
    expect(verify(sign(webhook, 'configuration', { caller }))).toEqual({ issuer: 'webhook' })
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
    ['that is not one', () => 'bad.token.here'],
  ])('%s is refused', (_name, token) => {
    expect(() => verify(token())).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })

  test('must be there', () => {
    expect(() => verifier.verify(undefined)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
    expect(() => verifier.verify('Basic YTpi')).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
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
