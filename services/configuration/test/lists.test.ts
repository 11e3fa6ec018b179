import { beforeAll, describe, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()
beforeAll(async () => {
  for (let at = 0; at < 30; at++) {
    const body = {
      ...bodies.tasks,
      name: `${'long '.repeat(30)}${at % 3}`,
      extId: at % 5 === 0 ? null : `thread-${at % 4}`,
      workflow: at % 2,
      status: at % 2 === 0 ? 'active' : 'pending',
    }
    await server.call('POST', '/rest/tasks', { body })
    await server.call('POST', '/rest/tasks', { body, workspace: 2 })
  }
  await server.call('DELETE', '/rest/tasks/7')
})

interface Task {
  _id: number
  updatedAt: string
  [field: string]: unknown
}

async function everyPage(query: string, limit = 4): Promise<Task[]> {
  const found: Task[] = []
  let after = ''
  for (let page = 0; page < 50; page++) {
    const { status, json } = await server.call('GET', `/rest/tasks?limit=${limit}${query}${after}`)
    expect(status).toBe(200)
    expect(json.data.length).toBeLessThanOrEqual(limit)
    found.push(...json.data)
    if (json.next === null) return found
    after = `&after=${json.next}`
  }
  throw new Error('the list does not end')
}

const ids = (tasks: Task[]) => tasks.map(({ _id }) => _id)
const everyId = Array.from({ length: 30 }, (_, at) => at + 1).filter((id) => id !== 7)

describe('sorting', () => {
  test.each(['_id', 'updatedAt', 'name', 'extId', 'status', 'workflow', 'currentStep'])(
    'a list sorted by %s gives every live document once, ascending and descending',
    async (field) => {
      const up = await everyPage(`&sort=${field}`)
      const down = await everyPage(`&sort=-${field}`)
      expect(ids(up).toSorted((a, b) => a - b)).toEqual(everyId)
      expect(ids(down)).toEqual(ids(up).toReversed())
    },
  )

  test('a sorted list has documents without the field first, and equal ones by id', async () => {
    const tasks = await everyPage('&sort=extId')
    const expected = tasks.toSorted((a, b) => {
      const [left, right] = [String(a.extId ?? ''), String(b.extId ?? '')]
      return left < right ? -1 : left > right ? 1 : a._id - b._id
    })
    expect(ids(tasks)).toEqual(ids(expected))
  })
})

describe('filters', () => {
  test.each([
    ['status=active', (task: Task) => task.status === 'active'],
    ['workflow=0', (task: Task) => task.workflow === 0],
    ['extId=thread-1', (task: Task) => task.extId === 'thread-1'],
    [
      'status=active&workflow=0&extId=thread-2',
      (task: Task) => task.status === 'active' && task.extId === 'thread-2',
    ],
    [`name=${'long '.repeat(30)}1`, (task: Task) => String(task.name).endsWith('1')],
    ['_id=5', (task: Task) => task._id === 5],
    ['_id=7', () => false],
    ['_id=5&status=pending', () => false],
    ['extId=', () => false],
  ])('%s', async (filter, matches) => {
    const all = await everyPage('')
    for (const sort of ['', '&sort=-_id', '&sort=updatedAt', '&sort=-updatedAt']) {
      const found = await everyPage(`&${filter}${sort}`)
      expect(ids(found).toSorted((a, b) => a - b)).toEqual(ids(all.filter(matches)))
    }
  })

  test('a list can be filtered by updatedAt', async () => {
    const [first] = await everyPage('&_id=1')
    expect(ids(await everyPage(`&updatedAt=${first?.updatedAt}`))).toContain(1)
  })
})

test('a cursor is valid only for the sort that it was made for', async () => {
  const { json } = await server.call('GET', '/rest/tasks?limit=2&sort=name')
  expect((await server.call('GET', `/rest/tasks?limit=2&after=${json.next}`)).status).toBe(422)
  expect((await server.call('GET', `/rest/tasks?limit=2&sort=-name&after=${json.next}`)).status).toBe(422)
})

test('every page examines only the index keys that it shows', async () => {
  const { database } = server
  await database.command({ profile: 2 })
  for (const query of ['', '&sort=-updatedAt', '&sort=name', '&workflow=1', '&workflow=1&sort=-updatedAt'])
    await everyPage(query, 3)
  await database.command({ profile: 0 })
  const reads = await database
    .collection('system.profile')
    .find({ op: 'query', ns: /\.tasks$/ })
    .toArray()
  expect(reads.length).toBeGreaterThan(30)
  for (const read of reads) {
    expect(read.docsExamined).toBeLessThanOrEqual(4)
    expect(read.keysExamined).toBeLessThanOrEqual(5)
    expect(read.hasSortStage ?? false).toBe(false)
  }
})
