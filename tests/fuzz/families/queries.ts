import fc from 'fast-check'
import { type FuzzCase, ordinaryHeaders } from '../fuzz-case.ts'
import { fuzzedOperations } from '../operations.ts'
import { caller, encodedSegment, pathOf } from './requests.ts'

const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const FORGED_CURSORS: readonly string[] = [
  ...[
    '',
    'x',
    'AAAA',
    '%00',
    '0',
    '-1',
    '1',
    '9007199254740993',
    'e30',
    'W10',
    'bnVsbA',
    '====',
    '_-_-',
    'a'.repeat(5_000),
  ],
  ...[
    null,
    1,
    'x',
    [],
    [1],
    [null],
    [{}],
    [[]],
    [1, 1],
    [1, 2, 3],
    ['a', { $gt: '' }],
    [{ $gt: '' }, 1],
    [true, 0],
  ].map(cursor),
  ...[
    {},
    { _id: 1 },
    { _id: { $gt: 0 } },
    { value: null, _id: 1 },
    { v: ['\u0000'], _id: -1 },
    { $where: '1' },
  ].map(cursor),
  ...[
    ['2026-11-20T11:36:37.235Z', 1],
    ['2026-99-99', 1],
    [1e308, 9007199254740991],
    ['\ud800', 1],
    ['a'.repeat(2_000), 1],
  ].map(cursor),
  ...[{ __proto__: 1 }, { at: '2026-11-20T11:36:37.235Z', id: 'x' }, { at: 'x', id: {} }].map(cursor),
]
const VALUES: readonly string[] = [
  ...[
    '',
    '0',
    '1',
    '-1',
    '1.5',
    '1e3',
    '1e400',
    '0x10',
    'NaN',
    'Infinity',
    '9007199254740992',
    '201',
    '999999999999',
    'null',
  ],
  ...[
    'true',
    'false',
    'undefined',
    '[]',
    '{}',
    '%5B1%5D',
    '%7B%22%24ne%22%3Anull%7D',
    '$ne',
    '%00',
    'a%00b',
    '%F0%9F%91%8D',
  ],
  ...[
    '-_id',
    '_id',
    '__proto__',
    '-__proto__',
    'constructor',
    '-$where',
    'a.b',
    '_id,name',
    'job,actions,configs',
    'job.actions',
  ],
  ...[
    '2026-11-20T11:36:37Z',
    '2026-02-30',
    '-271821-04-20T00:00:00Z',
    '10000-01-01',
    '2026-11-20T25:00:00Z',
    '1',
    'now',
  ],
]
const HOW = [
  '%s=%v',
  '%s=%v&%s=%v',
  '%s[]=%v',
  '%s[$ne]=%v',
  '%s[$gt]=',
  '%s[__proto__]=%v',
  '%s',
  '%s=',
  '=%v',
  '%S=%v',
  '%s.x=%v',
]
const WHOLE: readonly string[] = [
  ...[
    '',
    '&',
    '&&&',
    '=',
    '==',
    '?',
    '??a=1',
    'a',
    '%',
    '%zz',
    '%ff',
    '%c0%af',
    '\u0001',
    'é=1',
    '#',
    'a=1#b',
    '+',
    'a+b=c+d',
  ],
  ...[
    '__proto__[x]=1',
    'constructor.prototype.x=1',
    '$where=1',
    '%24where=sleep(1)',
    'toString=1',
    'hasOwnProperty=1',
    '_=1',
  ],
  ...[
    'limit=1;sort=name',
    'limit[]=1&limit[]=2',
    'limit[0]=1',
    'workspace=1',
    'account=1',
    'token={{token:nobody}}',
  ],
  'a=1&'.repeat(2_000),
  `name=${'x'.repeat(12_000)}`,
  Array.from({ length: 1_500 }, (_, n) => `k${n}=${n}`).join('&'),
]

/** Queries with operators, repeats, forged cursors and unknown names by every operation. */
export const queryCases: fc.Arbitrary<FuzzCase> = fc
  .tuple(fc.constantFrom(...fuzzedOperations.filter(({ method }) => method !== 'POST')), caller)
  .chain(([operation, caller]) => {
    const described = operation.operation.parameters.filter((each) => each.in === 'query')
    const names = [...described.map(({ name }) => name), 'limit', 'after', 'sort', 'unknown']
    const value = fc.oneof(
      { arbitrary: fc.constantFrom(...VALUES), weight: 4 },
      { arbitrary: encodedSegment, weight: 1 },
    )
    const one = fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(...HOW), value)
      .map(([name, how, value]) =>
        how
          .replaceAll('%s', name)
          .replaceAll('%S', name.toUpperCase())
          .replaceAll('%v', () => value),
      )
    const after = fc.constantFrom(...FORGED_CURSORS).map((text) => `after=${text}`)
    const sorted = fc.constantFrom('', '&sort=-updatedAt', '&sort=name', '&limit=1')
    const query = fc.oneof(
      { arbitrary: fc.array(one, { minLength: 1, maxLength: 3 }).map((all) => all.join('&')), weight: 6 },
      { arbitrary: fc.tuple(after, sorted).map((both) => both.join('')), weight: 3 },
      { arbitrary: fc.constantFrom(...WHOLE), weight: 2 },
    )
    return fc.tuple(pathOf(operation), query).map(
      ([path, query]): FuzzCase => ({
        kind: 'query',
        caller,
        method: operation.method,
        target: `${path}?${query}`,
        headers: ordinaryHeaders({ caller }),
      }),
    )
  })
