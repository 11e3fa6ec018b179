import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { findThreads, listed } from '../../src/api/threads/list-threads.ts'
import { type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import { collectionsOf, prepareDatabase } from '../../src/store/collections.ts'

const WORKSPACE = 7
const RESOLVED = 3_000
const OPEN = 120
const LIMIT = 50
const DAY_MS = 24 * 60 * 60 * 1_000

let connection: mongoose.Connection

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('open') }).asPromise()
  await prepareDatabase(connection, 1)
  const upTo = new Date(0)
  await collectionsOf(connection).threads.insertMany([
    ...many(OPEN, (n) => threadAt(n, {})),
    // Whose time has come, and whose has not.
    ...many(OPEN, (n) => threadAt(OPEN + n, { closed: { status: 'snoozed', upTo, until: new Date(1) } })),
    ...many(OPEN, (n) =>
      threadAt(2 * OPEN + n, { closed: { status: 'snoozed', upTo, until: new Date(Date.now() + DAY_MS) } }),
    ),
    ...many(RESOLVED, (n) =>
      threadAt(3 * OPEN + n, { closed: { status: 'resolved', upTo }, ...(n < OPEN && { team: teamOf(n) }) }),
    ),
  ])
})
afterAll(async () => {
  if (connection.db) await releaseDatabase(connection.db)
  await connection.close()
})

const many = (count: number, make: (n: number) => ThreadRecord): ThreadRecord[] =>
  Array.from({ length: count }, (_, n) => make(n))

const teamOf = (n: number) => ({ _id: 1 + (n % 3), name: 'Sales', at: new Date(0), by: 1 })

function threadAt(n: number, more: Partial<ThreadRecord>): ThreadRecord {
  const thread = { workspace: WORKSPACE, channel: n % 2 === 0 ? 'line' : 'other', extId: randomUUID() }
  return {
    ...{ _id: threadId(thread), ...thread, user: { name: String(n) }, handler: 'assistant' as const },
    ...{ lastMessage: '', lastAt: new Date(n * 1_000), unread: 0, expiresAt: new Date(4e12) },
    ...more,
  }
}

type Asked = Parameters<typeof findThreads>[2]
const VISIBLE = { workspace: WORKSPACE }
const find = (asked: Asked) => findThreads(collectionsOf(connection), VISIBLE, asked)

interface Explained {
  executionStats: { totalKeysExamined: number; totalDocsExamined: number }
  queryPlanner: { winningPlan: unknown }
}
const explained = (asked: Asked) =>
  listed(collectionsOf(connection).threads, VISIBLE, asked).explain(
    'executionStats',
  ) as unknown as Promise<Explained>

describe('the list of open threads', () => {
  test('has those that were put off and whose time has come, the newest activity first, page after page', async () => {
    const names: (string | undefined)[] = []
    let after: Asked['after']
    do {
      const found = await find({ status: 'open', limit: LIMIT, ...(after && { after }) })
      const page = found.slice(0, LIMIT)
      names.push(...page.map(({ user }) => user.name))
      const last = page.at(-1)
      after = found.length > LIMIT && last ? [last.lastAt.getTime(), last._id] : undefined
    } while (after !== undefined)
    expect(names).toEqual(
      many(2 * OPEN, (n) => threadAt(n, {}))
        .map(({ user }) => user.name)
        .reverse(),
    )
  })

  test.each([
    ['all', {}],
    ['those of nobody', { assignee: 'none' }],
    ['those of no team', { team: 'none' }],
    ['those of a channel', { channel: 'line' }],
  ])('is read from its index, however many are resolved: %s', async (_name, filter) => {
    const { executionStats, queryPlanner } = await explained({ status: 'open', limit: LIMIT, ...filter })
    const plan = JSON.stringify(queryPlanner.winningPlan)
    expect(plan).toContain('threads_by_status')
    expect(plan).not.toMatch(/COLLSCAN|"SORT"/)
    // Those that are put off for longer are looked at.
    expect(executionStats.totalDocsExamined).toBeLessThan(4 * OPEN)
    expect(executionStats.totalKeysExamined).toBeLessThan(4 * OPEN)
  })
})

test('the list of what some teams have is read from its index, the newest activity first', async () => {
  const asked = { team: '1,3', limit: LIMIT }
  const { executionStats, queryPlanner } = await explained(asked)
  const plan = JSON.stringify(queryPlanner.winningPlan)
  expect(plan).toContain('team._id')
  expect(plan).not.toMatch(/COLLSCAN|"SORT"/)
  expect(executionStats.totalDocsExamined).toBeLessThan(2 * LIMIT)
  const found = await find(asked)
  expect(new Set(found.map(({ team }) => team?._id))).toEqual(new Set([1, 3]))
  const times = found.map(({ lastAt }) => lastAt.getTime())
  expect(times).toEqual(times.toSorted((one, other) => other - one))
})
