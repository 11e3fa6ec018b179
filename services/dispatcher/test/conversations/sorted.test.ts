import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { lineOfThreads, type SeenThread, said } from './line-of-threads.ts'

type Sorted = SeenThread & {
  status: string
  snoozedUntil?: string
  assignee?: { _id: number; name: string }
  labels?: string[]
}

const line = lineOfThreads()
const DAY_MS = 24 * 60 * 60 * 1_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const change = async (id: string, body: object) => (await line.change(id, body)) as Sorted
const refused = async (id: string, body: object) => {
  const { status, json } = await line.world.call('PATCH', `/rest/threads/${id}`, body)
  return { status, json: json as { code: string; errors?: { path: string; code: string }[] } }
}
const extIds = async (query: string) => (await line.list(query)).data.map(({ extId }) => extId)

/** A thread in which somebody has written, and has an answer. */
async function thread(extId: string): Promise<void> {
  await line.world.post(
    `${extId}-1`,
    said('one', extId, { phone: `+55 11 90000-${extId.length}${extId.length}` }),
  )
  await line.world.message(`${extId}-1`, 'delivered')
  await line.listed('', (threads) => threads.some((one) => one.extId === extId))
}

describe('a thread that is resolved', () => {
  test('is in no list of what is open until the person writes again, and keeps who has it', async () => {
    await thread('resolved')
    expect((await line.read('resolved')) as Sorted).toMatchObject({ status: 'open' })
    await change('resolved', { handler: 'person' })
    expect(await change('resolved', { status: 'resolved' })).toMatchObject({
      status: 'resolved',
      handler: 'person',
    })
    expect(await extIds('?status=open')).not.toContain('resolved')
    expect(await extIds('?status=resolved')).toEqual(['resolved'])
    await line.world.post('resolved-2', said('two', 'resolved'))
    const [open] = await line.listed('?status=open&handler=person', ([one]) => one?.unread === 1)
    expect(open).toMatchObject({ extId: 'resolved', status: 'open', lastMessage: 'two', unread: 1 })
    expect(await extIds('?status=resolved')).toEqual([])
  })

  test('stays so after what the team or a caller sends, and what was known before', async () => {
    await thread('answered')
    // Whoever resolves it has read the conversation, which is ahead of the list.
    await line.world.post('answered-2', said('two', 'answered'))
    await line.world.message('answered-2', 'delivered')
    await change('answered', { status: 'resolved' })
    const { json } = await line.reply('answered', { text: 'You are welcome' })
    await line.world.message((json as { _id: string })._id, 'delivered')
    const [still] = await line.listed(
      '?status=resolved',
      ([first]) => first?.lastMessage === 'You are welcome',
    )
    expect(still?.extId).toBe('answered')
    expect(await change('answered', { status: 'open' })).toMatchObject({ status: 'open' })
  })
})

describe('a thread that is snoozed', () => {
  test('is open again at its time, or when the person writes', async () => {
    await thread('snoozed')
    const until = inDays(1)
    expect(await change('snoozed', { status: 'snoozed', snoozedUntil: until })).toMatchObject({
      status: 'snoozed',
      snoozedUntil: until,
    })
    expect(await extIds('?status=snoozed')).toEqual(['snoozed'])
    expect(await extIds('?status=open')).not.toContain('snoozed')
    await line.world.post('snoozed-2', said('two', 'snoozed'))
    await line.listed('?status=open', (threads) => threads.some(({ extId }) => extId === 'snoozed'))
    const soon = new Date(Date.now() + 1_500).toISOString()
    await change('snoozed', { status: 'snoozed', snoozedUntil: soon })
    await eventually(async () => (await extIds('?status=open')).includes('snoozed') || undefined)
    expect(await extIds('?status=snoozed')).toEqual([])
    expect(await line.read('snoozed')).not.toHaveProperty('snoozedUntil')
  })

  test('has a time that is to come, within a year', async () => {
    await thread('never')
    for (const body of [
      { status: 'snoozed' },
      { snoozedUntil: inDays(1) },
      { status: 'resolved', snoozedUntil: inDays(1) },
      { status: 'snoozed', snoozedUntil: inDays(-1) },
      { status: 'snoozed', snoozedUntil: inDays(400) },
      { status: 'snoozed', snoozedUntil: 'tomorrow' },
    ])
      expect(await refused('never', body)).toMatchObject({ status: 422, json: { code: 'validation_failed' } })
    expect(await line.read('never')).toMatchObject({ status: 'open' })
  })
})

describe('labels', () => {
  test('replace those before, are found by, and are bounded', async () => {
    await thread('labelled')
    expect(await change('labelled', { labels: [' refund ', 'vip', 'refund'] })).toMatchObject({
      labels: ['refund', 'vip'],
    })
    expect(await extIds('?label=vip')).toEqual(['labelled'])
    await change('labelled', { labels: ['vip'] })
    expect(await extIds('?label=refund')).toEqual([])
    const none = await change('labelled', { labels: [] })
    expect(none).not.toHaveProperty('labels')
    const tooMany = Array.from({ length: 21 }, (_, at) => `label ${at}`)
    for (const labels of [tooMany, ['x'.repeat(65)], ['  '], 'vip'])
      expect(await refused('labelled', { labels })).toMatchObject({ status: 422 })
  })
})

describe('an assignee', () => {
  test('is a user who may read the thread; nobody else is', async () => {
    await thread('assigned')
    const own = line.world.account._id
    const changed = await change('assigned', { assignee: own })
    const { name } = line.world.account
    expect(changed.assignee).toEqual({ _id: own, name, at: expect.any(String), by: own })
    // A user who has it already is not assigned it anew.
    expect((await change('assigned', { assignee: own })).assignee).toEqual(changed.assignee)
    expect(await extIds(`?assignee=${own}`)).toEqual(['assigned'])
    expect(await extIds('?assignee=none')).not.toContain('assigned')
    expect(await refused('assigned', { assignee: own + 1_000_000 })).toMatchObject({
      status: 422,
      json: { errors: [{ path: '/assignee', code: 'not_found' }] },
    })
    expect(await line.read('assigned')).toMatchObject({ assignee: { _id: own } })
    expect(await change('assigned', { assignee: null })).not.toHaveProperty('assignee')
  })
})

test('how many there are in all is said where it is asked for, of those that may be read, and not of a search', async () => {
  for (const extId of ['counted-1', 'counted-22', 'counted-333']) {
    await thread(extId)
    await change(extId, { labels: ['counted'] })
  }
  expect(await line.list('?label=counted&limit=1&total=true')).toMatchObject({
    next: expect.any(String),
    total: { count: 3, isMore: false },
  })
  for (const query of ['?label=counted', '?q=counted&total=true'])
    expect(await line.list(query)).not.toHaveProperty('total')
  expect(await line.world.get('/rest/threads?total=true', { workspace: 999 })).toMatchObject({
    json: { data: [], total: { count: 0, isMore: false } },
  })
  const { json } = await line.world.get('/rest/threads?total=yes')
  expect(json).toMatchObject({ code: 'validation_failed' })
})
