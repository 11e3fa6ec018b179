import { task } from '@parley/configuration/resources/task'
import { openDatabase } from '@parley/configuration/store/database'
import { type PageQuery, pageCursor, positionOf } from '@parley/configuration/store/find-page'
import { encodeCursor } from '@parley/configuration/store/list-cursor'
import { integer, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { z } from 'zod'
import { startBenchSystem } from './bench-system.ts'
import { COMMON, seedTasks } from './seed-tasks.ts'

const size = z.object({
  TASKS: integer({ min: 1_000, max: 5_000_000 }).default(1_000_000).describe('Tasks of one workspace'),
  ROUNDS: integer({ min: 10, max: 10_000 }).default(200).describe('How often each page is read'),
})
const LIMIT = 50
const WORKSPACE = 2
const WARM_UP = 20
const MAX_RATIO = 1.3
const MAX_KEYS = 1.1

const { TASKS, ROUNDS } = parseConfig(size, process.env)
/** Page 10,000 of a million tasks, and as far on in fewer. */
const PAGE = Math.floor(TASKS / 2 / LIMIT)
const system = await startBenchSystem('lists')
try {
  const progress = (done: number) => console.error(`${done} of ${TASKS} tasks stored`)
  await seedTasks({ mongo: system.mongo, workspace: WORKSPACE, count: TASKS, progress })
  const service = await system.startConfiguration()
  const { url, database: name } = system.mongo
  const log = createLog({ service: 'bench', level: 'fatal' })
  const database = openDatabase({ url, database: name, log })
  await database.ready
  const rows: Record<string, Row> = {}
  for (const query of queries()) rows[titleOf(query)] = await measure(query, { database, url: service.url })
  await database.close()
  console.log(
    `\nLists of ${LIMIT} from ${TASKS} tasks, page 1 and page ${PAGE} in turns, ${ROUNDS} times each`,
  )
  console.table(rows)
  const all = Object.values(rows)
  const worst = Math.max(...all.map((row) => row.ratio))
  const keys = Math.max(...all.flatMap((row) => [row['keys/doc, page 1'], row['keys/doc, late']]))
  console.log(`${all.length} lists; slowest against fastest page at most ${worst}, keys per document ${keys}`)
  if (worst >= MAX_RATIO || keys > MAX_KEYS) process.exitCode = 1
} finally {
  await system.stop()
}

interface Row {
  'page 1, ms': number
  'late, ms': number
  ratio: number
  'keys/doc, page 1': number
  'keys/doc, late': number
}

type Query = Pick<PageQuery, 'filters' | 'sort'>

/** Every published sort by itself, and every published filter in every order that it may be sorted in. */
function queries(): Query[] {
  const fields = [...Object.keys(task.indexed), 'updatedAt']
  const orders = (sorted: string[], filters: Query['filters']) =>
    sorted.flatMap((field) => [false, true].map((descending) => ({ filters, sort: { field, descending } })))
  return [
    ...orders(['_id', ...fields], []),
    ...fields.flatMap((field) => orders(['_id', 'updatedAt'], [[field, COMMON[field] ?? '']])),
  ]
}

function textsOf({ filters, sort }: Query) {
  const order = `${sort.descending ? '-' : ''}${sort.field}`
  return { order, parameters: [...filters.map(([field, value]) => `${field}=${value}`), `sort=${order}`] }
}

function titleOf(query: Query): string {
  return textsOf(query).parameters.join('&')
}

async function measure(
  query: Query,
  { database, url }: { database: ReturnType<typeof openDatabase>; url: string },
): Promise<Row> {
  const page: PageQuery = { ...query, workspace: WORKSPACE, limit: LIMIT, visible: {} }
  const before = await pageCursor(database, task, page)
    .limit(0)
    .skip((PAGE - 1) * LIMIT - 1)
    .maxTimeMS(60_000)
    .next()
  if (before === null) throw new Error(`there is no page ${PAGE} of ${titleOf(query)}`)
  const after = positionOf(before, query.sort.field)
  const { order, parameters } = textsOf(query)
  const first = `${url}/rest/tasks?${parameters.join('&')}&limit=${LIMIT}`
  const [fast, late] = await inTurns([first, `${first}&after=${encodeCursor(order, after)}`])
  const ratio = Math.max(fast, late) / Math.min(fast, late)
  return {
    'page 1, ms': rounded(fast),
    'late, ms': rounded(late),
    ratio: rounded(ratio),
    'keys/doc, page 1': await keysPerDocument(pageCursor(database, task, page)),
    'keys/doc, late': await keysPerDocument(pageCursor(database, task, { ...page, after })),
  }
}

/** The median times (ms) of two requests made one after the other, again and again. */
async function inTurns(urls: [string, string]): Promise<[number, number]> {
  const authorization = `Bearer ${system.token(WORKSPACE)}`
  const times: [number[], number[]] = [[], []]
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const began = performance.now()
      const response = await fetch(urls[at], { headers: { authorization } })
      const { data } = (await response.json()) as { data: unknown[] }
      if (data.length !== LIMIT) throw new Error(`${urls[at]} gave ${response.status}`)
      if (round >= 0) times[at].push(performance.now() - began)
    }
  }
  return [median(times[0]), median(times[1])]
}

async function keysPerDocument(cursor: ReturnType<typeof pageCursor>): Promise<number> {
  const { executionStats } = await cursor.explain('executionStats')
  return rounded(executionStats.totalKeysExamined / executionStats.nReturned)
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function rounded(value: number): number {
  return Number(value.toFixed(2))
}
