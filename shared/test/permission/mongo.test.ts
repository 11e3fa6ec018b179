import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { decide } from '@parley/shared/permission/decide'
import { evaluate } from '@parley/shared/permission/evaluate'
import { parse } from '@parley/shared/permission/parse'
import { grants } from '@parley/shared/permission/values'
import { MAX_SEARCHED_BYTES, MAX_SEARCHED_ITEMS, MAX_SOUGHT_BYTES } from '@parley/shared/permission/work'
import fc from 'fast-check'
import { mongo } from 'mongoose'
import { ACCOUNT, documents, sources } from './arbitraries.ts'

const DOCUMENTS = 100
const FILTERS = 10_000
const AT_ONCE = 20
const QUESTION = { resource: 'a', account: ACCOUNT }

type Doc = { _id: number } & Record<string, unknown>

let client: mongo.MongoClient
let collection: mongo.Collection<Doc>
let docs: Doc[]
let pairs: mongo.Collection<Doc>
let allPairs: Doc[]

/** Every kind of value; what is undefined is not there. */
const VALUES = [
  ...[undefined, null, false, true, 0, 1, 7, 1.5, 2 ** 40, '', 'a', 'ab', 'b'],
  ...[[], [null], [1, 'a', null], [7], [[1]], {}, { x: 1 }, new Date(7)],
]

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  client = await mongo.MongoClient.connect(mongoUrl)
  collection = client.db(freshDatabase('permission')).collection<Doc>('documents')
  const sample = fc.sample(documents({ beyondMingo: true }), { numRuns: DOCUMENTS, seed: 7 })
  await collection.insertMany(sample.map((doc, at) => ({ ...doc, _id: at })))
  docs = await collection.find().sort({ _id: 1 }).toArray()
  pairs = client.db(freshDatabase('permission')).collection<Doc>('pairs')
  const made = VALUES.flatMap((a) => VALUES.map((b) => ({ a, b, n: { x: b } })))
  await pairs.insertMany(
    made.map((doc, _id) => ({ ...doc, _id })),
    { ignoreUndefined: true },
  )
  allPairs = await pairs.find().sort({ _id: 1 }).toArray()
})

afterAll(async () => {
  await client.close()
})

interface Asked {
  among?: { collection: mongo.Collection<Doc>; docs: Doc[] }
  account?: { workspace: { _id?: number } }
}

/** The ids of the documents that the expression grants, by the evaluator. */
function inMemory(source: string, { among = { collection, docs }, account = ACCOUNT }: Asked = {}): number[] {
  const parsed = parse(source)
  if ('error' in parsed) throw new Error(`${source}: ${parsed.error.message}`)
  const { expression } = parsed
  const granted = among.docs.filter((doc) =>
    grants(evaluate(expression, { ...QUESTION, account, doc }), account.workspace._id),
  )
  return granted.map(({ _id }) => _id)
}

/** The same by the database. */
async function byDatabase(source: string, asked: Asked = {}): Promise<number[]> {
  const { among = { collection, docs }, account = ACCOUNT } = asked
  const permissions = [{ schema: 'true', read: source }]
  const decision = decide({ ...QUESTION, account, permissions, access: 'read' })
  if (decision.kind !== 'some') return decision.kind === 'all' ? among.docs.map(({ _id }) => _id) : []
  const options = { projection: { _id: 1 }, sort: { _id: 1 } } as const
  const found = await among.collection.find(decision.filter, options).toArray()
  return found.map(({ _id }) => _id)
}

/** Only what leaves something to the database to decide. */
const open = sources({ beyondMingo: true }).filter((source) => {
  const permissions = [{ schema: 'true', read: source }]
  return decide({ ...QUESTION, permissions, access: 'read' }).kind === 'some'
})

describe('MongoDB and the evaluator', () => {
  test(`agree on ${FILTERS} random filters over ${DOCUMENTS} documents`, async () => {
    let pairs = 0
    let matched = 0
    await fc.assert(
      fc.asyncProperty(fc.array(open, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (sources) => {
        const found = await Promise.all(sources.map((source) => byDatabase(source)))
        for (const [at, source] of sources.entries()) {
          const expected = inMemory(source)
          expect({ source, ids: found[at] }).toEqual({ source, ids: expected })
          pairs += docs.length
          matched += expected.length
        }
      }),
      { numRuns: FILTERS / AT_ONCE },
    )
    expect(pairs).toBe(FILTERS * DOCUMENTS)
    expect(matched).toBeGreaterThan(pairs / 50)
  }, 240_000)

  const values = ['doc.a', '!doc.a', '[doc.a]', 'doc.a || doc.b', 'doc.a && doc.b', 'doc.n.x || doc.a']
  const found = ['indexOf(doc.b)', 'includes(doc.b)', 'startsWith(doc.b)', 'indexOf(account.none)']
  test.each([
    ...values,
    ...['==', '!=', '<', '<=', '>', '>='].flatMap((order) =>
      ['doc.b', 'doc.n.x', '1', "'a'", 'null', 'true'].map((side) => `doc.a ${order} ${side}`),
    ),
    ...found.flatMap((call) => [
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
    const among = { collection: pairs, docs: allPairs }
    for (const account of [ACCOUNT, { ...ACCOUNT, workspace: {} }])
      expect(await byDatabase(source, { among, account })).toEqual(inMemory(source, { among, account }))
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
    expect(await byDatabase(source)).toEqual(inMemory(source))
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
    const long = client.db(freshDatabase('permission')).collection<Doc>('long')
    const lengths = [MAX_SOUGHT_BYTES, MAX_SEARCHED_BYTES].flatMap((length) => [
      length - 1,
      length,
      length + 1,
    ])
    const texts = lengths.flatMap((length) => ['a'.repeat(length), 'é'.repeat(length / 2)])
    const lists = [0, 1].map((more) => Array.from({ length: MAX_SEARCHED_ITEMS + more }, () => 'a'))
    const values = ['a', ...texts, ...lists]
    const made = values.flatMap((a) => ['b', ...texts].map((b) => ({ a, b, n: { x: a } })))
    await long.insertMany(made.map((doc, _id) => ({ ...doc, _id })))
    const decision = decide({ ...QUESTION, permissions: [{ schema: 'true', read }], access: 'read' })
    if (decision.kind !== 'some') throw new Error(decision.kind)
    const all = await long.find().sort({ _id: 1 }).toArray()
    const found = await long.find(decision.filter, { projection: { _id: 1 }, sort: { _id: 1 } }).toArray()
    expect(found.map(({ _id }) => _id)).toEqual(all.filter(decision.test).map(({ _id }) => _id))
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThan(all.length)
  })

  test.each([
    '{{doc.a}} == 1',
    "{{doc.a}} in ['a', 'b']",
    "{{doc.a}}.startsWith('ab')",
    '{{doc.a}} > 1 && {{doc.a}} < 3',
    '1 in {{doc.a}}',
    '({{doc.a}} == 1 && !{{doc.b}}) || {{doc.a}} == 2',
  ])('find %s by an index', async (read) => {
    await collection.createIndex({ a: 1 })
    const decision = decide({ ...QUESTION, permissions: [{ schema: 'true', read }], access: 'read' })
    const plan = await collection
      .find(decision.kind === 'some' ? decision.filter : {})
      .explain('queryPlanner')
    expect(JSON.stringify(plan.queryPlanner.winningPlan)).toMatch(/"IXSCAN"/)
  })
})
