import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { decide } from '@parley/shared/permission/decide'
import { MAX_SEARCHED_BYTES, MAX_SEARCHED_ITEMS, MAX_SOUGHT_BYTES } from '@parley/shared/permission/work'
import fc from 'fast-check'
import { RANDOM_FILTERS } from '../../../tests/sizes.ts'
import { ACCOUNT, documents, sources } from './arbitraries.ts'
import { connectDocuments, type DocumentsByResource, found, granted } from './ask.ts'

const DOCUMENTS = 100
const AT_ONCE = 20
const QUESTION = { resource: 'a', account: ACCOUNT }

let connection: Awaited<ReturnType<typeof connectDocuments>>
let random: DocumentsByResource
let pairs: DocumentsByResource

/** Every kind of value; what is undefined is not there. */
const VALUES = [
  ...[undefined, null, false, true, 0, 1, 7, 1.5, 2 ** 40, '', 'a', 'ab', 'b'],
  ...[[], [null], [1, 'a', null], [7], [[1]], {}, { x: 1 }, new Date(7)],
]

beforeAll(async () => {
  connection = await connectDocuments()
  random = await connection.store(
    fc.sample(documents({ beyondMingo: true }), { numRuns: DOCUMENTS, seed: 7 }),
  )
  pairs = await connection.store(VALUES.flatMap((a) => VALUES.map((b) => ({ a, b, n: { x: b } }))))
})
afterAll(() => connection.close())

/** Only what leaves something to the database to decide. */
const open = sources({ beyondMingo: true }).filter((source) => {
  const permissions = [{ schema: 'true', read: source }]
  return decide({ ...QUESTION, permissions, access: 'read' }).kind === 'some'
})

describe('MongoDB and the evaluator', () => {
  test(`agree on ${RANDOM_FILTERS} random filters over ${DOCUMENTS} documents`, async () => {
    let compared = 0
    let matched = 0
    await fc.assert(
      fc.asyncProperty(fc.array(open, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (sources) => {
        const asked = sources.map((source) => ({ source, account: ACCOUNT }))
        const results = await Promise.all(asked.map((question) => found(question, random)))
        for (const [at, question] of asked.entries()) {
          const expected = granted(question, random)
          expect({ ...question, ids: results[at] }).toEqual({ ...question, ids: expected })
          compared += DOCUMENTS
          matched += expected.length
        }
      }),
      { numRuns: Math.ceil(RANDOM_FILTERS / AT_ONCE) },
    )
    expect(compared).toBeGreaterThanOrEqual(RANDOM_FILTERS * DOCUMENTS)
    expect(matched).toBeGreaterThan(compared / 50)
  })

  const values = ['doc.a', '!doc.a', '[doc.a]', 'doc.a || doc.b', 'doc.a && doc.b', 'doc.n.x || doc.a']
  const calls = ['indexOf(doc.b)', 'includes(doc.b)', 'startsWith(doc.b)', 'indexOf(account.none)']
  test.each([
    ...values,
    ...['==', '!=', '<', '<=', '>', '>='].flatMap((operator) =>
      ['doc.b', 'doc.n.x', '1', "'a'", 'null', 'true'].map((side) => `doc.a ${operator} ${side}`),
    ),
    ...calls.flatMap((call) => [
      `doc.a.${call}`,
      `doc.a.${call} >= 0`,
      `doc.a.${call} > 0`,
      `!doc.a.${call}`,
    ]),
    ...['doc.b', "'a'", 'null', '[1]'].map((item) => `${item} in doc.a`),
    ...['doc.b', 'null', 'account.none', 'account.workspace'].map(
      (item) => `[doc.a, ${item}].includes(null)`,
    ),
    ...['1', 'null', 'account.none'].map((item) => `[doc.a, ${item}].indexOf(doc.b) == 1`),
    "[[1], 'a', {{account.workspace}}].indexOf(doc.a) > 0",
    'doc.a || account.none',
    'doc.a || account.workspace',
    '!(doc.a || account.none) == true',
    "doc.a.indexOf('a') || doc.b",
  ])('agree on every pair of values, with a workspace and without one: %s', async (source) => {
    for (const account of [ACCOUNT, { ...ACCOUNT, workspace: {} }])
      expect(await found({ source, account }, pairs)).toEqual(granted({ source, account }, pairs))
  })

  const wrapped = (inner: string, before: string, { times, after }: { times: number; after: string }) =>
    `${before.repeat(times)}${inner}${after.repeat(times)}`

  test.each<[string, string]>([
    ['negations', `${wrapped('{{doc.a}}', '!', { times: 30, after: '' })} == true`],
    ['arrays', `${wrapped('{{doc.a}}', '[', { times: 29, after: ']' })}.includes(1)`],
    ['choices', `${wrapped('{{doc.a}}', '({{doc.b}} && ', { times: 14, after: ' || {{doc.c}})' })} == 1`],
    ['calls', `{{doc.tags}}${".indexOf('a')".repeat(29)} == {{doc.b}}`],
    ['a wide choice', `(${Array(150).fill('{{doc.a}}').join('||')}) == 1`],
    ['a wide choice that grants', Array(150).fill('{{doc.a}}').join('||')],
    ['many conditions', Array(100).fill('{{doc.a}}==1').join('||')],
    ['a list of 256', `{{doc.a}} in [${Array.from({ length: 256 }, (_, at) => at)}]`],
  ])('agree where the bounds of the language are reached: %s', async (_name, source) => {
    const question = { source, account: ACCOUNT }
    expect(await found(question, random)).toEqual(granted(question, random))
  })

  test.each([
    "doc.a.includes('a')",
    "!doc.a.includes('b')",
    "doc.n.x.indexOf('b') < 0",
    "!('b' in doc.a)",
    '!doc.a.includes(doc.b)',
    'doc.a <= doc.b || true',
    "!(doc.a || doc.b).includes('c')",
    "doc.a.startsWith('aa')",
    "[doc.a].includes('b') == false",
  ])('agree where a value is about as long as may be searched: %s', async (read) => {
    const lengths = [MAX_SOUGHT_BYTES, MAX_SEARCHED_BYTES].flatMap((length) => [
      length - 1,
      length,
      length + 1,
    ])
    const texts = lengths.flatMap((length) => ['a'.repeat(length), 'é'.repeat(length / 2)])
    const lists = [0, 1].map((more) => Array.from({ length: MAX_SEARCHED_ITEMS + more }, () => 'a'))
    const values = ['a', ...texts, ...lists]
    const made = values.flatMap((a) => ['b', ...texts].map((b) => ({ a, b, n: { x: a } })))
    const long = await connection.store(made)
    const decision = decide({ ...QUESTION, permissions: [{ schema: 'true', read }], access: 'read' })
    if (decision.kind !== 'some') throw new Error(decision.kind)
    const ids = await found({ source: read, account: ACCOUNT }, long)
    expect(ids).toEqual(long.docs.filter(decision.test).map(({ _id }) => _id))
    expect(ids.length).toBeGreaterThan(0)
    expect(ids.length).toBeLessThan(long.docs.length)
  })

  test.each([
    '{{doc.a}} == 1',
    "{{doc.a}} in ['a', 'b']",
    "{{doc.a}}.startsWith('ab')",
    '{{doc.a}} > 1 && {{doc.a}} < 3',
    '1 in {{doc.a}}',
    '({{doc.a}} == 1 && !{{doc.b}}) || {{doc.a}} == 2',
  ])('find %s by an index', async (read) => {
    await random.collection.createIndex({ a: 1 })
    const decision = decide({ ...QUESTION, permissions: [{ schema: 'true', read }], access: 'read' })
    const plan = await random.collection
      .find(decision.kind === 'some' ? decision.filter : {})
      .explain('queryPlanner')
    expect(JSON.stringify(plan.queryPlanner.winningPlan)).toMatch(/"IXSCAN"/)
  })
})
