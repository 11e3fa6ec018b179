import { describe, expect, test } from '@jest/globals'
import { ofPhone } from '../../src/api/messages/filter.ts'
import { beyond } from '../../src/api/messages/routes.ts'
import { MESSAGE_STATES, type MessageRecord } from '../../src/message/message-record.ts'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

describe('the message log', () => {
  test('lists newest first, by pages, filtered, without contents', async () => {
    for (let n = 0; n < 5; n++) {
      await line.world.post(`m-list-${n}`, text(`secret ${n}`, 'listed'))
      await line.world.message(`m-list-${n}`, 'delivered')
    }
    const ids: string[] = []
    let after = ''
    for (let page = 0; page < 3; page++) {
      const { json } = await line.world.get(`/rest/messages?thread=listed&status=delivered&limit=2${after}`)
      const { data, next } = json as { data: Array<{ _id: string }>; next: string | null }
      expect(JSON.stringify(data)).not.toContain('secret')
      ids.push(...data.map(({ _id }) => _id))
      after = `&after=${next}`
      if (page === 2) expect(next).toBeNull()
    }
    expect(ids).toEqual([4, 3, 2, 1, 0].map((n) => `m-list-${n}`))
  })

  test.each([
    'state=gone',
    'status=gone',
    'limit=0',
    'limit=201',
    'after=x',
    'after=WzEsMl0',
    'from=yesterday',
    'name=x',
    'thread[$ne]=x',
    'state=dead,gone',
    'state=,',
    'phone=nobody',
    'fault=nobody',
    'providerId=',
  ])('refuses %s', async (query) => {
    expect((await line.world.get(`/rest/messages?${query}`)).status).toBe(422)
  })

  test.each(['state=delivered', 'status=delivered', 'state=delivered&status=delivered'])(
    '%s lists what is delivered, and nothing else',
    async (query) => {
      await line.world.post('m-unrouted', text('nowhere', 'by-state', 'no such line'))
      await line.world.post('m-delivered', text('there', 'by-state'))
      await line.world.message('m-unrouted', 'unrouted')
      await line.world.message('m-delivered', 'delivered')
      const { json } = await line.world.get(`/rest/messages?thread=by-state&${query}`)
      expect(json).toMatchObject({ data: [{ _id: 'm-delivered', state: 'delivered' }], next: null })
    },
  )

  test('finds messages by phone, however it is written, by request and by several states', async () => {
    const { world } = line
    const person = (phone: string) => ({ ...text('hello', 'found'), user: { phone } })
    await world.post('m-found-1', person('+55 (11) 97777-0001'))
    await world.post('m-found-2', { ...person('5511977770001'), extId: 'no such line' })
    await world.post('m-found-3', person('+5511977770002'))
    await world.message('m-found-1', 'delivered')
    await world.message('m-found-2', 'unrouted')
    await world.message('m-found-3', 'delivered')
    const idsOf = async (query: string) => {
      const { json } = await world.get(`/rest/messages?${query}`)
      return (json as { data: Array<{ _id: string }> }).data.map(({ _id }) => _id)
    }
    expect(await idsOf('phone=%2B55%2011%2097777%200001')).toEqual(['m-found-2', 'm-found-1'])
    expect(await idsOf('phone=5511977770001&state=delivered')).toEqual(['m-found-1'])
    expect(await idsOf('requestId=request-m-found-1')).toEqual(['m-found-1'])
    expect(await idsOf('thread=found&state=unrouted,dead')).toEqual(['m-found-2'])
    expect(await idsOf('thread=found&state=unrouted,delivered')).toHaveLength(3)
    const { json } = await world.get('/rest/messages?requestId=request-m-found-1')
    expect(json).toMatchObject({ data: [{ phone: '5511977770001' }] })
  })

  test('finds the messages of a user by name, e-mail address or id, page by page', async () => {
    const { world } = line
    const users = [
      { name: 'Joana Prado', phone: '5511977770009' },
      { name: ' joana prado' },
      { email: 'Rui@Example.com' },
      { phone: 'BR.13491208655302741918' },
    ]
    for (const [n, user] of users.entries()) {
      await world.post(`m-user-${n}`, { ...text('hello', 'users'), user })
      await world.message(`m-user-${n}`, 'delivered')
    }
    const pageOf = async (query: string) => {
      const { json } = await world.get(`/rest/messages?thread=users&${query}`)
      const { data, next } = json as { data: Array<{ _id: string }>; next: string | null }
      return { ids: data.map(({ _id }) => _id), next }
    }
    expect(await pageOf('user=JOANA%20Prado')).toEqual({ ids: ['m-user-1', 'm-user-0'], next: null })
    const { ids, next } = await pageOf('user=joana%20prado&limit=1')
    expect(ids).toEqual(['m-user-1'])
    expect((await pageOf(`user=joana%20prado&limit=1&after=${next}`)).ids).toEqual(['m-user-0'])
    expect((await pageOf('user=rui@example.com')).ids).toEqual(['m-user-2'])
    expect((await pageOf('user=br.13491208655302741918')).ids).toEqual(['m-user-3'])
    expect((await pageOf('user=nobody')).ids).toEqual([])
  })

  test("finds a message by the provider's id of one of its sends", async () => {
    await line.world.post('m-provider', text('hello', 'provider'))
    await line.world.message('m-provider', 'delivered')
    const messages = line.world.database.collection<{ _id: string }>('messages')
    await messages.updateOne({ _id: 'm-provider' }, { $set: { 'sends.0.providerId': 'wamid.HBgN==' } })
    const { json } = await line.world.get('/rest/messages?providerId=wamid.HBgN%3D%3D')
    expect(json).toMatchObject({ data: [{ _id: 'm-provider' }], next: null })
  })

  test('finds what is dead by whose fault that is, and a replay picks by the same', async () => {
    const { world } = line
    await world.putChannel(7, line.rpc({ extId: 'faulty', handlerUrl: 'native:agents/none' }))
    await world.post('m-fault', { extId: 'faulty', user: {}, thread: { extId: 'fault' }, answer: {} })
    await world.message('m-fault', 'dead')
    const { json } = await world.get('/rest/messages?fault=channel&thread=fault')
    expect(json).toMatchObject({ data: [{ _id: 'm-fault', fault: 'channel' }] })
    expect((await world.get('/rest/messages?fault=us&thread=fault')).json).toEqual({ data: [], next: null })
    const picked = { fault: 'channel', thread: 'fault', state: ['dead', 'failed'] }
    expect(await world.call('POST', '/rest/messages/replay', picked)).toMatchObject({ json: { replayed: 1 } })
  })

  test.each([
    ['phone', {}],
    ['requestId', { requestId: 'r-none' }],
    ['fault', { fault: 'us' }],
    ['providerId', { 'sends.providerId': 'wamid.none' }],
    ['several states', { state: { $in: ['dead', 'failed', 'unrouted'] } }],
  ])(
    'a page of messages by %s costs as many keys as it has messages, without a sort',
    async (what, filter) => {
      const asked = what === 'phone' ? { phone: '551190' } : {}
      const messages = line.world.database.collection<MessageRecord>('messages')
      const { workspace } = line.world
      const receivedAt = new Date()
      const record = (n: number) => ({
        ...{ _id: `m-seed-${n}`, workspace: workspace + 5_000, receivedAt, state: 'delivered' },
        ...{ phone: `${n}`, requestId: `r-${n}`, fault: 'channel', sends: [{ providerId: `wamid.${n}` }] },
      })
      await messages.deleteMany({ workspace: workspace + 5_000 })
      await messages.insertMany(Array.from({ length: 500 }, (_, n) => record(n)) as never[])
      const plan = await messages
        .find(ofPhone(asked, { $and: [{ workspace: workspace + 5_000 }, filter, { $and: [{}, {}] }] }))
        .sort({ receivedAt: -1, _id: -1 })
        .limit(51)
        .explain('executionStats')
      expect(plan.executionStats.totalKeysExamined).toBeLessThanOrEqual(5)
      expect(JSON.stringify(plan.queryPlanner.winningPlan)).not.toContain('"SORT"')
    },
  )

  test.each([
    ['first', {}],
    ['second', { before: 250 }],
    ['first of some hours', { from: 100, to: 300 }],
  ])(
    'the %s page of all messages costs a key for each and each state, without a sort',
    async (_what, asked) => {
      const messages = line.world.database.collection<MessageRecord>('messages')
      const workspace = line.world.workspace + 6_000
      const at = (n: number) => new Date(1_700_000_000_000 + n)
      const record = (n: number) => {
        const state = MESSAGE_STATES[n % MESSAGE_STATES.length]
        return { _id: `m-all-${n}`, workspace, receivedAt: at(n), state, channel: 'line' }
      }
      await messages.deleteMany({ workspace })
      await messages.insertMany(Array.from({ length: 500 }, (_, n) => record(n)) as MessageRecord[])
      const { before, from, to } = asked as Record<string, number | undefined>
      const filter = {
        $and: [
          { workspace },
          { state: { $in: [...MESSAGE_STATES] } },
          {
            $and: [from ? { receivedAt: { $gte: at(from) } } : {}, to ? { receivedAt: { $lt: at(to) } } : {}],
          },
          before ? beyond([at(before).getTime(), `m-all-${before}`]) : {},
        ],
      }
      const page = messages.find(filter).sort({ receivedAt: -1, _id: -1 }).limit(51)
      expect((await page.toArray())[0]?._id).toBe(`m-all-${(before ?? to ?? 500) - 1}`)
      const plan = await messages
        .find(filter)
        .sort({ receivedAt: -1, _id: -1 })
        .limit(51)
        .explain('executionStats')
      expect(plan.executionStats.totalKeysExamined).toBeLessThanOrEqual(51 + 2 * MESSAGE_STATES.length)
      expect(JSON.stringify(plan.queryPlanner.winningPlan)).not.toContain('"SORT"')
    },
  )

  test('a state and a status that differ are refused, in a list and in a replay', async () => {
    const refusal = {
      status: 422,
      json: { code: 'validation_failed', errors: [{ path: '/status', code: 'contradiction' }] },
    }
    expect(await line.world.get('/rest/messages?state=dead&status=failed')).toMatchObject(refusal)
    const body = { state: 'dead', status: 'failed' }
    expect(await line.world.call('POST', '/rest/messages/replay', body)).toMatchObject(refusal)
  })

  test('a replay picks messages by state as well as by status', async () => {
    for (const name of ['state', 'status']) {
      const picked = await line.world.call('POST', '/rest/messages/replay', {
        [name]: 'dead',
        thread: 'none',
      })
      expect(picked).toEqual({ status: 200, json: { replayed: 0, more: false } })
      const refused = await line.world.call('POST', '/rest/messages/replay', { [name]: 'delivered' })
      expect(refused).toMatchObject({ status: 409, json: { code: 'not_replayable' } })
    }
  })

  test('a message shows the id of its channel where the webhook knew it', async () => {
    await line.world.post('m-known', text('known', 'known'), { channelId: 1 })
    await line.world.post('m-not-known', text('not known', 'known'))
    const [known, unknown] = [
      await line.world.message('m-known', 'delivered'),
      await line.world.message('m-not-known', 'delivered'),
    ]
    expect([known.channelId, unknown.channelId]).toEqual([1, undefined])
    const { json } = await line.world.get('/rest/messages?thread=known')
    const { data } = json as { data: object[] }
    expect(data).toMatchObject([
      { _id: 'm-not-known', channel: 'line' },
      { _id: 'm-known', channel: 'line', channelId: 1 },
    ])
    expect(data[0]).not.toHaveProperty('channelId')
  })

  test('shows nothing of another workspace', async () => {
    const other = { workspace: line.world.workspace + 1_000 }
    expect((await line.world.get('/rest/messages/m-list-0', other)).status).toBe(404)
    expect((await line.world.get('/rest/messages', other)).json).toEqual({ data: [], next: null })
    expect((await line.world.get('/rest/messages/nothing')).status).toBe(404)
  })
})
