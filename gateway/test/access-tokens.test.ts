import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { Problem } from '@parley/shared/problem'
import { createAccessTokens } from '../src/access-tokens.ts'

const SECONDS = 1_800_000_000
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })

let asked: string[]
const tokens = createAccessTokens({
  keySet: {
    isLoaded: async () => true,
    key: async (kid) => {
      asked.push(kid)
      if (kid === 'away') throw new Problem('unavailable')
      if (kid === 'rsa') return createPublicKey(rsa.privateKey)
      return kid === 'known' ? createPublicKey(pair.privateKey) : undefined
    },
  },
})
beforeEach(() => {
  asked = []
  jest.spyOn(Date, 'now').mockImplementation(() => SECONDS * 1_000)
})
afterEach(() => void jest.restoreAllMocks())

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'known' }
const CLAIMS = {
  ...{ iss: 'urn:parley:identity', aud: 'urn:parley:gateway' },
  ...{ sub: '12', sid: 'session', jti: 'id', iat: SECONDS, exp: SECONDS + 900 },
}

/** A token that identity's key signed, whatever its header and claims say; what is undefined is not in it. */
function token({ header = {}, claims = {}, key = pair.privateKey } = {}): string {
  const signed = `${encode({ ...HEADER, ...header })}.${encode({ ...CLAIMS, ...claims })}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

test('an access token names its account and session and its expiry', async () => {
  const verified = await tokens.verify(token())
  expect(verified).toEqual({ account: 12, session: 'session', expiresAt: (SECONDS + 900) * 1_000 })
  expect(asked).toEqual(['known'])
})

describe('an access token is valid', () => {
  test.each<[string, object]>([
    ['until 5 s after its end, as clocks differ', { exp: SECONDS - 4 }],
    ['from 5 s before its beginning', { nbf: SECONDS + 5 }],
    ['for an account of 16 digits', { sub: '1234567890123456' }],
    ['for a session and an id of one character', { sid: 's', jti: 'j' }],
    ['for a session and an id of 64 characters', { sid: 's'.repeat(64), jti: 'j'.repeat(64) }],
    ['for one of several audiences', { aud: ['urn:parley:gateway', 'x'] }],
  ])('%s', async (_name, claims) => {
    await expect(tokens.verify(token({ claims }))).resolves.toMatchObject({ account: expect.any(Number) })
  })
})

test('an access token that has ended is refused with when that was', async () => {
  const exp = SECONDS - 3_600
  await expect(tokens.verify(token({ claims: { exp } }))).rejects.toMatchObject({
    code: 'unauthenticated',
    options: { detail: `The token expired at ${new Date(exp * 1_000).toISOString()}.` },
  })
})

describe('an access token is refused', () => {
  const refused = (text: string) =>
    expect(tokens.verify(text)).rejects.toMatchObject({ code: 'unauthenticated' })

  test.each<[string, object]>([
    ['of another issuer', { iss: 'urn:parley:gateway' }],
    ['without issuer', { iss: undefined }],
    ['for another audience', { aud: 'configuration' }],
    ['without audience', { aud: undefined }],
    ['that ended 5 s ago', { exp: SECONDS - 5 }],
    ['that begins in more than 5 s', { nbf: SECONDS + 6 }],
    ['without an end', { exp: undefined }],
    ['of no account', { sub: 'x' }],
    ['of an account with something before it', { sub: 'x1' }],
    ['of an account with something behind it', { sub: '1x' }],
    ['of an account of 17 digits', { sub: '12345678901234567' }],
    ['of no account at all', { sub: undefined }],
    ['of no session', { sid: undefined }],
    ['of a session without a name', { sid: '' }],
    ['of a session of 65 characters', { sid: 's'.repeat(65) }],
    ['without an id', { jti: undefined }],
    ['with an empty id', { jti: '' }],
    ['with an id of 65 characters', { jti: 'j'.repeat(65) }],
  ])('that is %s', async (_name, claims) => {
    await refused(token({ claims }))
  })

  test.each<[string, object]>([
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['a critical extension', { crit: ['b64'], b64: true }],
    ['no key id', { kid: undefined }],
    ['a key id that is none', { kid: 7 }],
  ])('with %s, and no key is looked up', async (_name, header) => {
    await refused(token({ header }))
    expect(asked).toEqual([])
  })

  test.each(['none', 'HS256', 'RS256', 'ES384', 'es256'])('whose algorithm is %s', async (alg) => {
    await refused(token({ header: { alg } }))
    expect(asked).toEqual([])
  })

  test('that is signed with an unpublished key, with another key, or with a key of another kind', async () => {
    await refused(token({ header: { kid: 'unknown' } }))
    await refused(token({ key: stranger.privateKey }))
    await refused(token({ header: { kid: 'rsa' } }))
  })

  test.each(['', 'x', 'a.b.c', `${encode(HEADER)}.e30.`, '..'])('that is the text %j', refused)
})

test('a token is not refused when the keys are unavailable: the error is unavailable', async () => {
  await expect(tokens.verify(token({ header: { kid: 'away' } }))).rejects.toMatchObject({
    code: 'unavailable',
  })
})
