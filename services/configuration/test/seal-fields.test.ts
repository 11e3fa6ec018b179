import { expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { createSecretBox, openSecrets, secretKeysOf } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import fc from 'fast-check'
import { sealFields } from '../src/secrets/seal-fields.ts'

const box = { ...createSecretBox(secretKeysOf({})), sealsAll: () => true }
const SETTINGS = { reach: 'settings' } as const
/** Seals settings of a channel; paths of errors begin in them. */
const seal = (config: JsonObject, current?: JsonObject) => {
  const stored = current && { config: current }
  const { fields, errors } = sealFields({ secrets: box, workspace: 1, fields: { config }, current: stored })
  const inside = errors.map((error) => ({ ...error, path: error.path.replace(/^\/config/, '') }))
  return { fields: fields.config as JsonObject, errors: inside }
}
const masked = (config: JsonObject) => mapSecrets(config, () => MASK, SETTINGS)

interface Item {
  name: string
  users: number
  bare: number
  retained: boolean
}

const items = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    users: fc.nat(2),
    bare: fc.nat(2),
    retained: fc.boolean(),
  }),
  { maxLength: 6 },
)

/** A document in which every secret is another, with what may tell its items apart. */
function documentOf(all: Item[]): { servers: JsonObject[]; token: string; credentials: JsonObject[] } {
  const servers = all.map(({ name, users, bare }, at) => ({
    name,
    token: `token ${at}`,
    users: Array.from({ length: users }, (_, user) => ({ login: `${user % 2}`, password: `${at} ${user}` })),
    credentials: Array.from({ length: bare }, (_, index) => `bare ${at} ${index}`),
  }))
  return { servers, token: 'own', credentials: all.map((_, at) => ({ user: `user ${at}` })) }
}

test('a masked document restores itself', () => {
  fc.assert(
    fc.property(items, (all) => {
      const doc = documentOf(all)
      const stored = seal({ ...doc }).fields
      expect(seal(masked(stored), stored)).toEqual({ fields: stored, errors: [] })
    }),
  )
})

test('a mask never restores the secret of another item, whichever were removed or moved', () => {
  fc.assert(
    fc.property(items, fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }), (all, sequence) => {
      const doc = documentOf(all)
      const stored = seal({ ...doc }).fields
      const sent = {
        ...doc,
        // Items that nothing but their secrets tells apart stay in their sequence.
        servers: doc.servers
          .filter((_, at) => all[at]?.retained)
          .sort((one, other) => sequence.indexOf(String(one.name)) - sequence.indexOf(String(other.name))),
        credentials: doc.credentials.filter((_, at) => all[at]?.retained),
      }
      const { fields, errors } = seal(masked(sent), stored)
      const refused = new Set(errors.map(({ path }) => path))
      const expected = mapSecrets(
        sent,
        (leaf, { path }) => (refused.has(`/${path.join('/')}`) ? MASK : leaf),
        SETTINGS,
      )
      expect(openSecrets(fields, box, 1, SETTINGS)).toEqual(expected)
      const names = all.map(({ name }) => name)
      if (new Set(names).size === names.length)
        expect(errors.filter(({ path }) => path.startsWith('/servers'))).toEqual([])
    }),
    { numRuns: 300 },
  )
})
