import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { mapSecrets, type SecretPlace } from '@parley/shared/map-secrets'
import { createSecretBox, openSecrets, secretKeyring } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import fc from 'fast-check'

const entry = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2] = [entry('k1'), entry('k2')]
const boxOf = (...entries: string[]) => createSecretBox(secretKeyring.parse(entries.join(',')))
const box = boxOf(k1)
const leaf = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
)

test('what is sealed opens to the same value, for its workspace only, and never looks the same twice', () => {
  fc.assert(
    fc.property(leaf, fc.nat(), (value, workspace) => {
      const sealed = box.seal(value, workspace)
      const stored: unknown = JSON.parse(JSON.stringify(value))
      expect(box.open(sealed, workspace)).toEqual(stored)
      expect(box.open(sealed, workspace + 1)).toBeUndefined()
      expect(box.seal(value, workspace)).not.toBe(sealed)
    }),
  )
})

test('a text that was tampered with, cut or sealed by an unknown key does not open', () => {
  const sealed = box.seal('the secret', 1)
  expect(sealed).toMatch(/^sealed:k1:[\w-]+$/)
  expect(sealed).not.toContain('secret')
  const at = sealed.length - 10
  const turned = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`
  for (const bad of [
    turned,
    sealed.slice(0, -4),
    'sealed:k1:',
    'sealed:k1:AAAA',
    'the secret',
    '',
    sealed.replace('k1', 'k9'),
  ]) {
    expect([bad, box.open(bad, 1)]).toEqual([bad, undefined])
  }
  expect(boxOf(k2).open(sealed, 1)).toBeUndefined()
})

test('after a change of keys the old texts still open, and are distinguished from the new', () => {
  const old = box.seal('x', 1)
  const changed = boxOf(k2, k1)
  expect([changed.open(old, 1), changed.isCurrent(old)]).toEqual(['x', false])
  const fresh = changed.seal('x', 1)
  expect([changed.open(fresh, 1), changed.isCurrent(fresh)]).toEqual(['x', true])
})

test('keys are 32 bytes with an id each', () => {
  for (const text of ['', 'k1', `k1:${randomBytes(16).toString('base64')}`, `${k1},${k1}`, `${k1},`]) {
    expect([text, secretKeyring.safeParse(text).success]).toEqual([text, false])
  }
})

test('secrets are what lies under the known keys, at any depth; the rest keeps its identity', () => {
  const reach = 'settings'
  const rest = { list: [1, { note: 'apiKey' }], accessTokenType: 'no' }
  const document = JSON.parse(
    '{"a":{"accessToken":"s1"},"credentials":{"user":"s2","deep":[{"pin":3}],"none":null},"__proto__":{"apiKey":"s4"}}',
  )
  const paths: string[] = []
  const hide = (_leaf: unknown, { path }: SecretPlace) => {
    paths.push(path.join('/'))
    return MASK
  }
  const masked = mapSecrets({ ...document, rest }, hide, { reach })
  expect(paths).toEqual(['a/accessToken', 'credentials/user', 'credentials/deep/0/pin', '__proto__/apiKey'])
  expect(JSON.stringify(masked)).toBe(
    `{"a":{"accessToken":"${MASK}"},"credentials":{"user":"${MASK}","deep":[{"pin":"${MASK}"}],"none":null},` +
      `"__proto__":{"apiKey":"${MASK}"},"rest":${JSON.stringify(rest)}}`,
  )
  expect(masked.rest).toBe(rest)
  expect(mapSecrets(rest, () => MASK, { reach })).toBe(rest)
})

test('a document is opened for a service: what was never sealed stays, what cannot be opened is masked', () => {
  const document = {
    accessToken: box.seal('s1', 7),
    signingSecrets: [box.seal('s2', 7), 'plain'],
    appSecret: box.seal('s3', 8),
  }
  expect(openSecrets(document, box, 7, { reach: 'settings' })).toEqual({
    accessToken: 's1',
    signingSecrets: ['s2', 'plain'],
    appSecret: MASK,
  })
})
