import { createPublicKey } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import jwt from 'jsonwebtoken'
import { type IdentityServer, identityForTests, newRegistration } from './identity-server.ts'

const first = identityForTests()
let instances: IdentityServer[]

beforeAll(async () => {
  // The others find the collections, and no keys.
  await first.database.collection('keyRings').deleteMany({})
  instances = await Promise.all(Array.from({ length: 3 }, () => first.startInstance()))
})

test('instances that start at once agree on the keys', async () => {
  const sets = await Promise.all(instances.map((instance) => instance.call('GET', '/.well-known/jwks.json')))
  const [first] = sets
  expect(first!.json.keys).toHaveLength(2)
  for (const { json } of sets) expect(json).toEqual(first!.json)
  for (const key of first!.json.keys)
    expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
})

test('a token of one instance verifies with the keys of another', async () => {
  const [one, other] = instances
  const { json } = await one!.call('POST', '/api/auth/register', { body: newRegistration() })
  const { header } = jwt.decode(json.accessToken, { complete: true })!
  expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
  const { keys: published } = (await other!.call('GET', '/.well-known/jwks.json')).json
  const jwk = published.find(({ kid }: { kid: string }) => kid === header.kid)
  const payload = jwt.verify(json.accessToken, createPublicKey({ key: jwk, format: 'jwk' }), {
    algorithms: ['ES256'],
  })
  expect(payload).toMatchObject({ sub: String(json._id), iss: 'urn:parley:identity' })
})

test('the private parts are stored encrypted', async () => {
  const ring = await instances[0]!.database.collection('keyRings').findOne()
  for (const key of [ring!.current, ring!.next])
    expect(Object.keys(key.privateJwk).sort()).toEqual(['data', 'iv', 'key', 'tag'])
  expect(JSON.stringify(ring)).not.toContain('"d":')
})
