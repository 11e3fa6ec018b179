import { describe, expect, test } from '@jest/globals'
import { compile } from '@parley/shared/permission/compile'
import { fold } from '@parley/shared/permission/fold'
import { parse } from '@parley/shared/permission/parse'
import { workspaceOf } from '@parley/shared/permission/values'

const NO_ARRAY = { $not: { $type: 'array' } }
const NOTHING = { $nor: [{}] }
/** Decided by an aggregation, document by document. */
const COMPUTED = { $expr: expect.anything() }
const a = (test: object) => ({ a: { ...test, ...NO_ARRAY } })
const b = (test: object) => ({ b: { ...test, ...NO_ARRAY } })

function filterOf(read: string, workspace: number | undefined = 7): object {
  const account = { workspace: { _id: workspace } }
  const parsed = parse(read)
  if ('error' in parsed) throw new Error(`${read}: ${parsed.error.message}`)
  return compile(fold(parsed.expression, { resource: 'a', account }), workspaceOf(account))
}

const contains = (item: string, pattern = item) => ({
  $or: [{ a: { $eq: item, $type: 'array' } }, a({ $regex: pattern })],
})
const without = (found: object) => ({ $and: [{ a: { $type: ['string', 'array'] } }, { $nor: [found] }] })
const granting = (name: string) => ({
  $or: [{ [name]: { $in: [true, 7], ...NO_ARRAY } }, { [name]: { $eq: 7, $type: 'array' } }],
})

describe('a field and a constant make a condition that an index can serve', () => {
  test.each<[string, object]>([
    ['doc.a == 1', a({ $eq: 1 })],
    ['1 == doc.a', a({ $eq: 1 })],
    ['doc.a < 1', a({ $lt: 1 })],
    ['1 < doc.a', a({ $gt: 1 })],
    ['1 <= doc.a', a({ $gte: 1 })],
    ['1 > doc.a', a({ $lt: 1 })],
    ['1 >= doc.a', a({ $lte: 1 })],
    ['doc.a == null', a({ $eq: null, $exists: true })],
    ['doc.a != 1', { $nor: [a({ $eq: 1 })] }],
    ['doc.n.x.y == 1', { n: NO_ARRAY, 'n.x': NO_ARRAY, 'n.x.y': { $eq: 1, ...NO_ARRAY } }],
    ['doc.a == 1 && doc.b == 2', { $and: [a({ $eq: 1 }), b({ $eq: 2 })] }],
    ['doc.a == 1 || doc.b == 2', { $or: [a({ $eq: 1 }), b({ $eq: 2 })] }],
    ['!(doc.a == 1 || doc.b == 2)', { $nor: [{ $or: [a({ $eq: 1 }), b({ $eq: 2 })] }] }],
    ['!(doc.a == 1 && doc.b == 2)', { $nor: [{ $and: [a({ $eq: 1 }), b({ $eq: 2 })] }] }],
  ])('%s', (source, filter) => {
    expect(filterOf(source)).toEqual(filter)
  })

  test.each<[string, object]>([
    ['doc.a in [1, 2]', a({ $in: [1, 2] })],
    ['doc.a in [1, [2]]', a({ $in: [1] })],
    ["doc.a in ['b', null]", a({ $in: ['b', null], $exists: true })],
    ['doc.a in [[1]]', NOTHING],
    ["['b'].includes(doc.a)", a({ $in: ['b'] })],
    ['1 in doc.a', { a: { $eq: 1, $type: 'array' } }],
    ["'b' in doc.a", { a: { $eq: 'b', $type: 'array' } }],
    ['[1] in doc.a', NOTHING],
    ['doc.a.includes(1)', { a: { $eq: 1, $type: 'array' } }],
    ["doc.a.includes('b')", contains('b')],
    ["doc.a.includes('a.b/c-d')", contains('a.b/c-d', 'a\\.b\\/c\\-d')],
    ["doc.a.startsWith('b')", a({ $regex: '^b' })],
    ["doc.a.startsWith('^$')", a({ $regex: '^\\^\\$' })],
    ['doc.a.startsWith(1)', NOTHING],
    ...['>= 0', '> -1'].map((found): [string, object] => [`doc.a.indexOf('b') ${found}`, contains('b')]),
    ...['< 0', '<= -1', '== -1'].map((not): [string, object] => [
      `doc.a.indexOf('b') ${not}`,
      without(contains('b')),
    ]),
    ["['b'].indexOf(doc.a) >= 0", a({ $in: ['b'] })],
    ["['b'].indexOf(doc.a) < 0", { $and: [{}, { $nor: [a({ $in: ['b'] })] }] }],
  ])('%s', (source, filter) => {
    expect(filterOf(source)).toEqual(filter)
  })
})

describe('a value grants what it names', () => {
  test.each<[string, object]>([
    ['doc.a', granting('a')],
    ['[doc.a, 1]', { $or: [a({ $eq: 7 }), NOTHING] }],
    ['[doc.a, 7]', { $or: [a({ $eq: 7 }), {}] }],
    ['doc.a == 1 && doc.b', { $and: [a({ $eq: 1 }), granting('b')] }],
    ['doc.a == 1 || doc.b', { $or: [a({ $eq: 1 }), granting('b')] }],
    ['doc.a == 1 || 7', { $or: [a({ $eq: 1 }), {}] }],
    ['doc.a == 1 || 8', { $or: [a({ $eq: 1 }), NOTHING] }],
    ['doc.a == 1 && false || doc.b == 1', { $or: [{ $and: [a({ $eq: 1 }), NOTHING] }, b({ $eq: 1 })] }],
    ['doc.a != 1 || doc.b', { $or: [{ $nor: [a({ $eq: 1 })] }, granting('b')] }],
    ['1 in doc.a || doc.b', { $or: [{ a: { $eq: 1, $type: 'array' } }, granting('b')] }],
    [
      '(doc.a == 1 || doc.b == 1) && doc.b == 2 || doc.b',
      { $or: [{ $and: [{ $or: [a({ $eq: 1 }), b({ $eq: 1 })] }, b({ $eq: 2 })] }, granting('b')] },
    ],
    ['[doc.a] && doc.b == 1', { $and: [{}, b({ $eq: 1 })] }],
    ['doc.a && doc.b == 1', { $and: [{ $nor: [COMPUTED] }, b({ $eq: 1 })] }],
    ["doc.a.indexOf('b') && doc.b == 1", { $and: [{ $nor: [COMPUTED] }, b({ $eq: 1 })] }],
  ])('%s', (source, filter) => {
    expect(filterOf(source)).toEqual(filter)
  })

  test('of the workspace only where there is one', () => {
    expect(filterOf('doc.a', 0)).toEqual(a({ $eq: true }))
    expect(filterOf('[doc.a]', 0)).toEqual(NOTHING)
  })
})

describe('the rest is computed', () => {
  test.each([
    'doc.a == doc.b',
    '!doc.a',
    'doc.a || doc.b',
    'doc.a == 1 && doc.b || doc.a == 2',
    'doc.a == 1 || doc.b || doc.b == 2',
    'doc.a == 1 || (doc.a || doc.b == 1) || doc.b',
    'doc.a == 1 && 7 || doc.b == 1',
    '[doc.a] || doc.b == 1',
    'doc.a.indexOf(1) || doc.b == 1',
    'doc.a.indexOf(1) > 0',
    '1 == doc.a.indexOf(doc.b)',
    'true == (doc.a == 1)',
    "doc.a.includes('b') >= 0",
    'doc.a.indexOf(1) == 0',
    'doc.a.indexOf(doc.b) >= 0',
    'doc.a.includes(doc.b)',
    "'abc'.includes(doc.a)",
    "'abc'.startsWith(doc.a)",
    "['a'].indexOf(doc.a) == doc.b",
    "doc.a.includes('b\0')",
    'doc.a.indexOf(1)',
  ])('%j', (source) => {
    expect(filterOf(source)).toEqual(COMPUTED)
  })
})
