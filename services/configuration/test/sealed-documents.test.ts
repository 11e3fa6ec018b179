import { expect, test } from '@jest/globals'
import { changesBetween } from '@parley/shared/field-changes'
import { mapSecrets } from '@parley/shared/map-secrets'
import { createSecretBox, openSecrets, sealSecrets, secretKeysOf } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import fc from 'fast-check'
import { sealChanges } from '../src/history/write-history.ts'
import { revealAt } from '../src/secrets/presenter.ts'
import { sealFields } from '../src/secrets/seal-fields.ts'

const box = { ...createSecretBox(secretKeysOf({})), sealsAll: () => true }
const workspace = 1
const CANARY = 'CANARY'

const open = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('sealed:k1:AAAA', 'https://h.example/p?page=2', 'What? A note: yes @home'),
)
/** A text that is found again wherever it leaks. */
const canary = fc.string({ maxLength: 6 }).map((text) => `${CANARY}${text.replaceAll(/[^a-z\d]/gi, '')}1`)
const secretName = fc.constantFrom(
  'apiKey',
  'api_key',
  'X-API-KEY',
  'Authorization',
  'db_password',
  'client_secret',
  'token',
)
const openName = fc.constantFrom(
  'maxOutputTokens',
  'tokenType',
  'secretary',
  'note',
  'a.b',
  '$c',
  '__proto__',
  'name',
)

const secretMember = fc.oneof(
  fc.tuple(secretName, fc.oneof(canary, fc.array(canary, { maxLength: 3 }), fc.record({ deep: canary }))),
  fc.tuple(fc.constant('headers'), fc.dictionary(fc.constantFrom('X-A', 'X-B'), canary)),
  fc.tuple(
    fc.constant('callbackUrl'),
    canary.map((text) => `https://h.example/p?k=${text}`),
  ),
  fc.tuple(
    fc.constant('hook'),
    canary.map((text) => `https://h.example/p?token=${text}`),
  ),
)
const { settings } = fc.letrec<{ settings: object; member: [string, unknown] }>((tie) => ({
  settings: fc.array(tie('member'), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  member: fc.oneof(
    { maxDepth: 4 },
    fc.tuple(openName, open),
    secretMember,
    fc.tuple(fc.constantFrom('nested', 'other'), tie('settings')),
    fc.tuple(fc.constantFrom('list'), fc.array(tie('settings'), { maxLength: 3 })),
  ) as fc.Arbitrary<[string, unknown]>,
}))

/** Documents of every resource that has free-form settings or a URL. */
const document = fc.oneof(
  fc.record({
    name: fc.constant('c'),
    config: settings,
    handlerUrl: canary.map((text) => `https://h.example/?${text}`),
  }),
  fc.record({ name: fc.constantFrom('model', 'plain'), value: settings }),
  fc.record({
    name: fc.constantFrom('credentials', 'X_CREDENTIALS'),
    value: fc.dictionary(
      fc.constantFrom('a', 'note', 'provider'),
      fc.oneof(canary, fc.array(canary), fc.integer()),
    ),
  }),
  fc.record({
    name: fc.constant('a'),
    moduleUrl: canary.map((text) => `https://h.example/?${text}`),
    spec: canary.map((text) => JSON.stringify({ servers: [{ url: `https://h.example/?${text}` }] })),
  }),
)
const text = (value: unknown) => JSON.stringify(value)

test('what is sealed opens to what it was, and has no secret that is seen: stored, masked or in the history', () => {
  fc.assert(
    fc.property(document, document, (before, after) => {
      const sealed = sealFields({ secrets: box, workspace, fields: after as never, current: undefined })
      expect(sealed.errors).toEqual([])
      expect(text(openSecrets(sealed.fields, box, workspace))).toBe(text(after))
      expect(text(sealed.fields)).not.toContain(CANARY)
      expect(text(mapSecrets(after, () => MASK))).not.toContain(CANARY)
      expect(text(mapSecrets(sealed.fields, () => MASK))).toBe(text(mapSecrets(after, () => MASK)))

      const isCredentials = [before, after].some(({ name }) => /credentials$/i.test(name))
      const options = { secrets: box, workspace, isCredentials }
      const changes = sealChanges(changesBetween(before as never, after as never), options)
      expect(text(changes)).not.toContain(CANARY)
      for (const change of changes) {
        const shown = revealAt(change.path, change.after, { ...options, writable: false })
        expect(text(shown) ?? '').not.toContain(CANARY)
      }
    }),
    { numRuns: 500 },
  )
})

test('what was stored in the clear and is sealed afterwards is the same as what is sealed at once', () => {
  fc.assert(
    fc.property(document, (doc) => {
      const sealed = sealSecrets(doc, box, workspace)
      expect(text(sealed)).not.toContain(CANARY)
      expect(sealSecrets(sealed, box, workspace)).toBe(sealed)
      expect(text(openSecrets(sealed, box, workspace))).toBe(text(doc))
    }),
    { numRuns: 300 },
  )
})

test('a document that was read masked and is sent back has its secrets still', () => {
  fc.assert(
    fc.property(document, (doc) => {
      const seal = (fields: object, current?: object) =>
        sealFields({ secrets: box, workspace, fields: fields as never, current: current as never })
      const stored = seal(doc).fields
      expect(
        seal(
          mapSecrets(stored, () => MASK),
          stored,
        ),
      ).toEqual({ fields: stored, errors: [] })
    }),
    { numRuns: 300 },
  )
})
