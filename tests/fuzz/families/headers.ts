import { defined } from '@parley/shared/defined'
import fc from 'fast-check'
import type { FuzzCase, Header } from '../fuzz-case.ts'
import { fuzzedOperations, operationsWithBody } from '../operations.ts'
import { jsonText, naughtyString } from '../values/naughty-values.ts'
import { CONTENTS, ENCODINGS, FRAMINGS } from './framings.ts'
import { FURTHER } from './further-headers.ts'
import { caller, headersOf, pathOf, validBody } from './requests.ts'

const METHODS = [
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'PURGE',
  'LINK',
  'LOCK',
  'QUERY',
  'MOVE',
  'SUMMON',
  'get',
  'CONNECT',
  'PRI',
]

const base = (operations: typeof fuzzedOperations) =>
  fc.tuple(fc.constantFrom(...operations), caller).chain(([operation, caller]) => {
    const body = validBody(operation)?.map(jsonText) ?? fc.constant(undefined)
    return fc.tuple(pathOf(operation), body).map(
      ([target, body]): FuzzCase => ({
        kind: 'header',
        caller,
        method: operation.method,
        target,
        headers: headersOf({ operation, caller, hasBody: body !== undefined }),
        ...defined({ body }),
      }),
    )
  })

const without = ({ headers }: FuzzCase, ...names: string[]) =>
  headers.filter(([name]) => !names.includes(name))

const further = fc
  .tuple(
    base(fuzzedOperations),
    fc.oneof(
      { arbitrary: fc.constantFrom(...FURTHER), weight: 8 },
      { arbitrary: naughtyString.map((text): Header[] => [['x-fuzz', text.toWellFormed()]]), weight: 1 },
    ),
  )
  .map(([one, more]): FuzzCase => ({ ...one, headers: [...one.headers, ...more] }))
const contents = fc.tuple(base(operationsWithBody), fc.constantFrom(...CONTENTS, ...ENCODINGS)).map(
  ([one, { type = 'application/json', encoding, body }]): FuzzCase => ({
    ...one,
    headers: [
      ...without(one, 'content-type'),
      ['content-type', type],
      ...(encoding === undefined ? [] : [['content-encoding', encoding] as const]),
    ],
    ...(body === undefined ? {} : { body, encoding: 'latin1' }),
  }),
)
const framings = fc.tuple(base(operationsWithBody), fc.constantFrom(...FRAMINGS)).map(
  ([one, { more, body, expectedStatuses }]): FuzzCase => ({
    ...one,
    headers: [...without(one, 'content-length', 'x-request-id'), ...more],
    ...defined({ body }),
    ...defined({ expectedStatuses }),
  }),
)
const methods = fc
  .tuple(base(fuzzedOperations), fc.constantFrom(...METHODS))
  .map(([one, method]): FuzzCase => ({ ...one, method }))

/** Header fields that say what is not so, bodies framed twice, methods nobody knows. */
export const headerCases: fc.Arbitrary<FuzzCase> = fc.oneof(
  { arbitrary: further, weight: 5 },
  { arbitrary: contents, weight: 3 },
  { arbitrary: framings, weight: 2 },
  { arbitrary: methods, weight: 1 },
)
