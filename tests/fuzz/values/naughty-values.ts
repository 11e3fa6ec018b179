import fc from 'fast-check'
import { REFUSED_STRINGS, STORABLE_STRINGS } from './naughty-strings.ts'

const MARK = '\u0001raw:'
const MARKED = /"\\u0001raw:((?:[^"\\]|\\.)*)"/g

/** Stands in a value for JSON text that no JavaScript value is written as, such as `1e400`. */
const raw = (text: string): string => MARK + text

/** A value as JSON, with the texts of {@link raw} in their places. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.replaceAll(MARKED, (_whole, escaped: string) => JSON.parse(`"${escaped}"`))
}

/** Keys of free-form objects that are kept as they are. */
const STORABLE_KEYS: readonly string[] = [
  ...[
    '_bsontype',
    'toBSON',
    '$ref',
    '$id',
    '$db',
    '$oid',
    '$date',
    '$numberLong',
    '~$ref',
    '~__proto__',
    '~~',
  ],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    'then',
    'toJSON',
  ],
  ...[
    '$where',
    '$set',
    '$ne',
    '$',
    'a.b',
    '.',
    '..',
    'a.',
    '.a',
    '',
    ' ',
    '0',
    '-1',
    '1e3',
    '_id',
    '__v',
    'length',
  ],
  ...[
    'é',
    'e\u0301',
    '\u200b',
    '\u202e',
    '👍',
    'k'.repeat(300),
    '/',
    '~',
    '~0',
    '~1',
    '%',
    '"',
    '\\',
    '\n',
    '\t',
  ],
]

const REFUSED_KEYS: readonly string[] = ['\u0000', 'a\u0000', '\u0000b', '\ud800', 'a\udc00']

const ZEROS = ['0', '-0', '0.0', '-0.0', '0e0']
const EDGES = ['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740992', '2147483648']
const HUGE = [
  '1e400',
  '-1e400',
  '1e308',
  '1e-400',
  '9'.repeat(400),
  '0.1e1',
  '1E+2',
  '1.0',
  '1.5',
  '18446744073709551616',
]
const NUMBERS = [...ZEROS, ...EDGES, ...HUGE]

export const storableString = fc.oneof(
  { arbitrary: fc.constantFrom(...STORABLE_STRINGS), weight: 4 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 40 }), weight: 2 },
  { arbitrary: fc.string({ maxLength: 40 }), weight: 1 },
)
export const naughtyString = fc.oneof(
  { arbitrary: storableString, weight: 6 },
  { arbitrary: fc.constantFrom(...REFUSED_STRINGS), weight: 1 },
)
export const naughtyNumber = fc.oneof(fc.constantFrom(...NUMBERS).map(raw), fc.integer(), fc.maxSafeInteger())

/** Objects that a store may take for values of its own. */
const STORE_LIKE: readonly object[] = [
  ...['ObjectId', 'Long', 'Code', 'x'].map((name) => ({ _bsontype: name })),
  ...[{ $ref: 'x', $id: 1 }, { $oid: '6b005dc47904f522acbe0354' }, { $date: 0 }, { $numberLong: '1' }],
]
const scalar = fc.oneof(
  naughtyString,
  naughtyNumber,
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    { $ne: null },
    { $gt: '' },
    { toString: 1 },
    ...STORE_LIKE,
  ),
)
const storableKey = fc.oneof(fc.constantFrom(...STORABLE_KEYS), fc.string({ maxLength: 8 }))
const objectOf = (key: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.array(fc.tuple(key, value), { maxLength: 5 }).map((entries) => Object.fromEntries(entries))

/** As deep as the bound, one deeper, and so deep that whatever recurses breaks. */
const deep = fc
  .tuple(fc.constantFrom(30, 31, 32, 33, 64, 20_000), fc.constantFrom(['[', ']'], ['{"a":', '}']))
  .map(([levels, [open, close]]) => raw(`${open?.repeat(levels)}1${close?.repeat(levels)}`))

/** Any JSON value that somebody might not have thought of. */
export const naughtyValue: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: scalar, weight: 8 },
  { arbitrary: objectOf(fc.oneof(storableKey, fc.constantFrom(...REFUSED_KEYS)), scalar), weight: 3 },
  { arbitrary: fc.array(scalar, { maxLength: 4 }), weight: 2 },
  { arbitrary: deep, weight: 1 },
)

const storableScalar = fc.oneof(
  storableString,
  fc.integer(),
  fc.constantFrom<unknown>(null, true, [], {}, ...STORE_LIKE, 1.5, 2 ** 53 - 1),
)
/** An object that a free-form field keeps as it is. */
export const storableObject: fc.Arbitrary<object> = objectOf(
  storableKey,
  fc.oneof(storableScalar, objectOf(storableKey, storableScalar), fc.array(storableScalar, { maxLength: 3 })),
)
