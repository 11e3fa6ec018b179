import { describe, expect, test } from '@jest/globals'
import { combine, decide, filterBytes, foldEntries } from '@parley/shared/permission/decide'
import { validateEntry } from '@parley/shared/permission/entry'
import { explain } from '@parley/shared/permission/explain'
import { literal } from '@parley/shared/permission/expression'
import { parse } from '@parley/shared/permission/parse'
import { MAX_SEARCHED_BYTES, MAX_SEARCHED_ITEMS, MAX_SOUGHT_BYTES } from '@parley/shared/permission/work'
import fc from 'fast-check'
import { mongo } from 'mongoose'
import { RANDOM_EXPRESSIONS } from '../../../tests/sizes.ts'
import { ACCOUNT, sources } from './arbitraries.ts'

/** The size of a BSON document without fields. */
const EMPTY_BYTES = 5

const question = { resource: 'actions', account: ACCOUNT }
const reading = (read: string, schema = 'true') => ({
  ...question,
  access: 'read' as const,
  permissions: [{ schema, read }],
})
const times = (count: number, part: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => part(at)).join(' || ')

test('a placeholder of spaces is parsed in time linear in its length', () => {
  const started = performance.now()
  for (let at = 0; at < 300; at++)
    expect(parse(`${'{{'}${' '.repeat(1_990 - at)}x`)).toHaveProperty('error.column', 1)
  // One of them used to take more than five seconds.
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('a decision is made and a document tested in a browser, too, which has no Buffer', () => {
  const { Buffer } = globalThis
  try {
    Reflect.deleteProperty(globalThis, 'Buffer')
    const decision = decide(reading("doc.name.includes('a') && doc.channel == 'order-line'"))
    const test = decision.kind === 'some' ? decision.test : () => false
    expect(test({ name: `${'b'.repeat(MAX_SEARCHED_BYTES - 1)}a`, channel: 'order-line' })).toBe(true)
  } finally {
    globalThis.Buffer = Buffer
  }
})

describe('an entry that takes more work than a decision may', () => {
  const tooMuch = times(60, (at) => `doc.spec.indexOf('b') == ${at}`)

  test('denies, before any document is looked at', () => {
    expect(decide(reading(tooMuch))).toEqual({ kind: 'none' })
    expect(decide(reading(times(20, (at) => `doc.spec.indexOf('b') == ${at}`))).kind).toBe('some')
  })

  test('is not one that searches for the places that other searches found', () => {
    const nested = 'doc.a.indexOf(doc.a.indexOf(doc.a.indexOf(doc.a))).indexOf(doc.a) != -1'
    const decision = decide(reading(nested))
    expect(decision.kind === 'some' && decision.test({})).toBe(true)
  })

  test('denies by its schema as well', () => {
    const context = { text: 'a'.repeat(60_000) }
    const search = times(70, (at) => `account.context.text.indexOf('b') == ${at}`)
    const asked = { ...reading('true', `${search} || true`), account: { ...ACCOUNT, context } }
    expect(decide(asked).kind).toBe('none')
  })

  test('leaves the others as they are', () => {
    const permissions = [
      { schema: 'true', read: tooMuch },
      { schema: 'true', read: 'doc.a == 1' },
    ]
    const decision = decide({ ...question, permissions, access: 'read' })
    expect(decision.kind === 'some' && decision.test({ a: 1 })).toBe(true)
  })

  test('shares the work with the other entries of the role', () => {
    const permissions = Array.from({ length: 4 }, () => ({
      schema: 'true',
      read: times(20, (at) => `doc.spec.indexOf('b') == ${at}`),
    }))
    const { entries } = explain({ ...question, permissions })
    expect(entries.map(({ read }) => read.grants)).toEqual(['some', 'none', 'none', 'none'])
  })

  test('is explained', () => {
    const { result, entries } = explain({ ...question, permissions: [{ schema: 'true', read: tooMuch }] })
    expect(entries[0]?.read).toMatchObject({
      grants: 'none',
      reason: 'Takes more work than is left for one decision',
    })
    expect(result).toContain('may not read actions')
  })
})

describe('an entry whose filter would be too large', () => {
  const { calculateObjectSize } = mongo.BSON
  const large = `doc.a||${'doc.a.b<1||'.repeat(164)}doc.a`
  const permissions = Array.from({ length: 100 }, () => ({ schema: 'true', read: large, write: large }))
  const filterOf = (access: 'read' | 'write') => {
    const decision = decide({ ...question, permissions, access })
    if (decision.kind !== 'some') throw new Error(decision.kind)
    return decision.filter
  }

  test('denies, so that the filters of a role for reading and writing have less than a megabyte together', () => {
    expect(calculateObjectSize({ $and: [filterOf('read'), filterOf('write')] })).toBeLessThan(1_000_000)
  })

  test('is explained, and leaves those before it as they are', () => {
    const { entries } = explain({ ...question, permissions })
    const [first, last] = [entries.at(0)?.write, entries.at(-1)?.write]
    expect([first?.grants, last?.grants]).toEqual(['some', 'none'])
    expect(last?.reason).toBe('Takes more work than is left for one decision')
  })

  test('takes nothing from the others where it does not apply', () => {
    const others = permissions.map((entry) => ({ ...entry, schema: "resource == 'channels'" }))
    const own = { schema: 'true', read: large }
    expect(decide({ ...question, permissions: [...others, own], access: 'read' }).kind).toBe('some')
  })

  test('is told by the size of what it is compiled to, which is never more than what it counts', () => {
    const paths = ['doc.a.b.c.d', `doc.${'deep.'.repeat(30)}end`, 'doc.é', 'doc.constructor.toString']
    const made = paths.flatMap((path) => [
      ...['', ' == 1', " != '.'", " < 'é'", ' in [1, 2, null]', ' == doc.a'].map((rest) => path + rest),
      ...["includes('....')", "indexOf('(((') < 0", "startsWith('^')", 'indexOf(doc.a) > 0'].map(
        (call) => `${path}.${call}`,
      ),
      `!(${path} || doc.a).includes(${path})`,
    ])
    const size = (source: string) => {
      const [entry] = foldEntries({ ...question, permissions: [{ schema: 'true', read: source }] }, 'read')
      const granting = entry?.granting.expression ?? literal(false)
      const decision = combine([granting], 7)
      const filter = decision.kind === 'some' ? decision.filter : {}
      return { counted: filterBytes(granting), is: calculateObjectSize(filter) - EMPTY_BYTES }
    }
    const isCounted = (source: string) => {
      const { counted, is } = size(source)
      expect({ source, isEnough: counted >= is }).toEqual({ source, isEnough: true })
    }
    made.forEach(isCounted)
    fc.assert(fc.property(sources({ beyondMingo: true }), isCounted), { numRuns: RANDOM_EXPRESSIONS })
  })
})

describe('a value of the document that is too long to be searched', () => {
  const long = 'a'.repeat(MAX_SEARCHED_BYTES + 1)
  const permits = (read: string, doc: object) => {
    const decision = decide(reading(read))
    return decision.kind === 'some' && decision.test(doc)
  }

  test.each([
    ["doc.spec.includes('a')", { spec: long }],
    ["!doc.spec.includes('b')", { spec: long }],
    ["doc.spec.indexOf('b') < 0", { spec: long }],
    ["!('a' in doc.tags)", { tags: Array.from({ length: MAX_SEARCHED_ITEMS + 1 }, () => 'b') }],
    ['!doc.spec.includes(doc.name)', { spec: 'b', name: 'a'.repeat(MAX_SOUGHT_BYTES + 1) }],
    ['doc.spec <= doc.name || true', { spec: long, name: 'b' }],
    ["!(doc.name || doc.spec).includes('b')", { spec: long }],
  ])('denies in %j', (read, doc) => {
    expect(permits(read, doc)).toBe(false)
  })

  test.each([
    ["doc.spec.includes('a')", { spec: 'a'.repeat(MAX_SEARCHED_BYTES) }],
    ["doc.spec.startsWith('aa')", { spec: long }],
    ['doc.spec == doc.name', { spec: long, name: long }],
    ["doc.spec != 'a'", { spec: long }],
  ])('does not deny in %j', (read, doc) => {
    expect(permits(read, doc)).toBe(true)
  })

  test('is explained', () => {
    const permissions = [{ schema: 'true', read: "!doc.spec.includes('b')" }]
    const { entries } = explain({ ...question, permissions, doc: { spec: long } })
    expect(entries[0]?.read).toMatchObject({ grants: 'none', reason: 'doc.spec is too long to be searched' })
  })
})

describe('a rule that names a secret', () => {
  test.each([
    'passwordHash',
    'salt',
    'pepper',
    'config.accessToken',
    'value.credentials.x',
    'signingSecrets',
  ])('doc.%s does not parse, and denies where it is stored already', (path) => {
    const read = `doc.${path} <= 'x' || true`
    expect(validateEntry({ schema: 'true', read })).toEqual([
      { path: '/read', column: 1, message: expect.stringContaining('is secret') },
    ])
    expect(decide(reading(read))).toEqual({ kind: 'none' })
  })

  test('of the account it can not: an account has none', () => {
    expect(parse('account.salt')).toHaveProperty('expression')
  })
})

test('a rule sees no field outside of the public view', () => {
  const fields = new Set(['name'])
  const asked = { ...reading("doc.hash <= 'z' || doc.name == 'a'"), fields }
  const decision = decide(asked)
  if (decision.kind !== 'some') throw new Error(decision.kind)
  expect(JSON.stringify(decision.filter)).not.toContain('hash')
  expect([{ hash: 'a' }, { name: 'a' }].map(decision.test)).toEqual([false, true])
})
