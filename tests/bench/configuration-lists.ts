import { task } from '@parley/configuration/resources/task'
import { type PageQuery, type Position, pageCursor } from '@parley/configuration/store/find-page'
import { integer, parseConfig } from '@parley/shared/config'
import { encodeCursor } from '@parley/shared/list-query'
import type mongoose from 'mongoose'
import { z } from 'zod'
import { compare, median, report } from '../lab/report/results.ts'
import { ALL_PERMISSIONS, callerIn, startServiceProcesses } from '../lab/system/service-processes.ts'
import { COMMON, seedTasks, taskAt } from './seed-tasks.ts'

const size = z.object({
  TASKS: integer({ min: 1_000, max: 5_000_000 })
    .default(1_000_000)
    .describe('Tasks of one workspace, a multiple of 10'),
  WARM_UPS: integer({ min: 0, max: 1_000 }).default(20).describe('How often each is read beforehand'),
  ROUNDS: integer({ min: 10, max: 10_000 }).default(200).describe('How often each page is read'),
})
const LIMIT = 50
const WORKSPACE = 2
/** Has a tenth of the tasks. */
const SMALL_WORKSPACE = 3
const COMPARISONS = 3
const MAX_RATIO = 1.3
const MAX_KEYS = 1.1

const { TASKS, WARM_UPS, ROUNDS } = parseConfig(size, process.env)
/** Page 10,000 of a million tasks, and as far on in fewer. */
const PAGE = Math.floor(TASKS / 2 / LIMIT)
const ids = Array.from({ length: TASKS }, (_, at) => at + 1)

const system = await startServiceProcesses({ name: 'lists', inner: () => ALL_PERMISSIONS })
try {
  const mongo = { url: system.servers.mongo.url, database: system.databaseName('configuration') }
  const progress = (done: number) => console.error(`${done} of ${TASKS} tasks stored`)
  await seedTasks({ mongo, workspace: SMALL_WORKSPACE, count: TASKS / 10, progress })
  await seedTasks({ mongo, workspace: WORKSPACE, count: TASKS, progress })
  const service = await system.startService('configuration', { LOG_LEVEL: 'fatal' })
  const db = system.database('configuration')
  const rows: Record<string, Row> = {}
  for (const query of queries()) rows[titleOf(query)] = await measure(query, { db, url: service.url })
  // Last, because MongoDB still writes out for minutes what was stored.
  const url = `${service.url}/rest/tasks?limit=${LIMIT}`
  const [all, tenth]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < COMPARISONS; turn++) {
    const [ofAll, ofTenth] = await alternately([
      { url, workspace: WORKSPACE },
      { url, workspace: SMALL_WORKSPACE },
    ])
    all.push(ofAll)
    tenth.push(ofTenth)
  }
  report({
    row: `list of ${LIMIT} from ${TASKS} tasks, speed beside a tenth of them`,
    ...{ parley: `${median(all).toFixed(2)} ms`, against: `${median(tenth).toFixed(2)} ms` },
    ...{ ...compare(tenth, all), reach: { least: 0.85 } },
  })
  console.log(
    `\nLists of ${LIMIT} from ${TASKS} tasks, page 1 and page ${PAGE} in turns, ${ROUNDS} times each`,
  )
  console.table(rows)
  const lists = Object.values(rows)
  const worst = Math.max(...lists.map((row) => row.ratio))
  const keys = Math.max(...lists.flatMap((row) => [row['keys/doc, page 1'], row['keys/doc, late']]))
  console.log(
    `${lists.length} lists; slowest against fastest page at most ${worst}, keys per document ${keys}`,
  )
  const ratios = lists.map((row) => row.ratio)
  report({
    row: `lists of ${TASKS} tasks, page ${PAGE} beside page 1, ${lists.length} filters and sorts`,
    parley: `worst ${worst}`,
    against: `${keys} keys a document`,
    ratio: worst,
    spread: [Math.min(...ratios), worst],
    reach: { most: MAX_RATIO },
  })
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
  const sortings = (sorted: string[], filters: Query['filters']) =>
    sorted.flatMap((field) => [false, true].map((descending) => ({ filters, sort: { field, descending } })))
  return [
    ...sortings(['_id', ...fields], []),
    ...fields.flatMap((field) => sortings(['_id', 'updatedAt'], [[field, COMMON[field] ?? '']])),
  ]
}

function textsOf({ filters, sort }: Query) {
  const sortText = `${sort.descending ? '-' : ''}${sort.field}`
  return {
    sortText,
    parameters: [...filters.map(([field, value]) => `${field}=${value}`), `sort=${sortText}`],
  }
}

function titleOf(query: Query): string {
  return textsOf(query).parameters.join('&')
}

async function measure(query: Query, { db, url }: { db: mongoose.mongo.Db; url: string }): Promise<Row> {
  const page: PageQuery = { ...query, workspace: WORKSPACE, limit: LIMIT, visible: {} }
  const database: Parameters<typeof pageCursor>[0] = { documents: (resource) => db.collection(resource) }
  const after = endOfPageBefore(query)
  const { sortText, parameters } = textsOf(query)
  const first = `${url}/rest/tasks?${parameters.join('&')}&limit=${LIMIT}`
  const next = `${first}&after=${encodeCursor([sortText, after.value, after.id])}`
  const [fast, late] = await alternately([
    { url: first, workspace: WORKSPACE },
    { url: next, workspace: WORKSPACE },
  ])
  const ratio = Math.max(fast, late) / Math.min(fast, late)
  return {
    'page 1, ms': rounded(fast),
    'late, ms': rounded(late),
    ratio: rounded(ratio),
    'keys/doc, page 1': await keysPerDocument(pageCursor(database, task, page)),
    'keys/doc, late': await keysPerDocument(pageCursor(database, task, { ...page, after })),
  }
}

/** Where page {@link PAGE} begins, from the seed itself: to skip half a million would empty the cache. */
function endOfPageBefore({ filters: [filter], sort: { field, descending } }: Query): Position {
  const fieldOf = (id: number, of: string) =>
    (taskAt(id) as unknown as Record<string, string | number>)[of] ?? null
  const matching = filter ? ids.filter((id) => fieldOf(id, filter[0]) === filter[1]) : ids
  const positions = matching.map((id) => ({ value: field === '_id' ? null : fieldOf(id, field), id }))
  if (field !== '_id') positions.sort((a, b) => compareValues(a.value, b.value) || a.id - b.id)
  const position = positions.at(descending ? -(PAGE - 1) * LIMIT : (PAGE - 1) * LIMIT - 1)
  if (position === undefined) throw new Error(`there is no page ${PAGE}`)
  return position
}

/** All are texts, or all are numbers. */
function compareValues(a: Position['value'], b: Position['value']): number {
  if (a === b || a === null || b === null) return 0
  return a < b ? -1 : 1
}

interface List {
  url: string
  workspace: number
}

/** The median times (ms) of two requests made one after the other, again and again. */
async function alternately(lists: [List, List]): Promise<[number, number]> {
  const tokens = lists.map(({ workspace }) => system.token('configuration', callerIn(workspace)))
  const times: [number[], number[]] = [[], []]
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const { url } = lists[at]
      const began = performance.now()
      const response = await fetch(url, { headers: { authorization: `Bearer ${tokens[at]}` } })
      const { data } = (await response.json()) as { data: unknown[] }
      if (data.length !== LIMIT) throw new Error(`${url} gave ${response.status}`)
      if (round >= 0) times[at].push(performance.now() - began)
    }
  }
  return [median(times[0]), median(times[1])]
}

async function keysPerDocument(cursor: ReturnType<typeof pageCursor>): Promise<number> {
  const { executionStats } = await cursor.explain('executionStats')
  return rounded(executionStats.totalKeysExamined / executionStats.nReturned)
}

function rounded(value: number): number {
  return Number(value.toFixed(2))
}
