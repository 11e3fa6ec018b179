import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { text } from '../rpc-line.ts'
import { lineOfThreads, said } from './line-of-threads.ts'

const line = lineOfThreads()
const extIds = (threads: { extId: string }[]) => threads.map(({ extId }) => extId)

describe('the list of threads', () => {
  test('has the newest activity first, by pages, with the last text and its person', async () => {
    for (const n of [0, 1, 2]) {
      await line.world.post(
        `l-${n}`,
        said(`question ${n}`, `listed-${n}`, { name: 'Zoé Öztürk', phone: `+4930 100${n}` }),
      )
      await line.world.message(`l-${n}`, 'delivered')
    }
    await line.world.post('l-again', text('From the API', 'listed-0'))
    await line.world.message('l-again', 'delivered')
    await line.listed(
      '?q=oztu',
      (threads) => threads[0]?.lastMessage === 'From the API' && threads.length === 3,
    )
    const first = await line.list('?q=oztu&limit=2')
    expect(extIds(first.data)).toEqual(['listed-0', 'listed-2'])
    expect(first.data[1]).toMatchObject({
      channel: 'line',
      user: { name: 'Zoé Öztürk', phone: '+4930 1002' },
      handler: 'assistant',
      lastMessage: 'question 2',
      unread: 0,
      serviceWindowEndsAt: null,
    })
    const second = await line.list(`?q=oztu&limit=2&after=${first.next}`)
    expect(extIds(second.data)).toEqual(['listed-1'])
    expect(second.next).toBeNull()
  })

  test('finds a thread by words of the name and by the beginning of the number, and by its channel', async () => {
    await line.world.post('f-1', said('x', 'found-1', { name: 'Maria da Silva', phone: '+55 21 98888-7777' }))
    await line.listed('?q=maria%20sil', (threads) => threads.length === 1)
    expect(extIds((await line.list('?q=5521%2098888')).data)).toEqual(['found-1'])
    expect(extIds((await line.list('?q=SILVA&channel=line')).data)).toEqual(['found-1'])
    expect(extIds((await line.list('?q=silva&channel=other')).data)).toEqual([])
    expect(extIds((await line.list('?q=ilva')).data)).toEqual([])
    expect(extIds((await line.list('?q=%2B%2B')).data)).toEqual([])
  })

  test('finds a thread by words of what was said in it and by a part of the number, until it is erased', async () => {
    const nina = { name: 'Nina', phone: '+55 21 97777-6655' }
    await line.world.post('s-1', said('Onde está meu guarda-chuva ÁZUL?', 'searched', nina))
    await line.world.post('s-2', said('Obrigada', 'searched', nina))
    await line.world.message('s-2', 'delivered')
    const [found] = await line.listed('?q=azul%20guarda', (threads) => threads.length === 1)
    expect(found).toMatchObject({
      ...{ extId: 'searched', lastMessage: 'Obrigada' },
      found: { message: 's-1', text: expect.stringContaining('Onde está meu guarda-chuva ÁZUL?') },
    })
    expect(extIds((await line.list('?q=77776')).data)).toEqual(['searched'])
    expect(extIds((await line.list('?q=azul%20obrigada')).data)).toEqual([])
    expect(extIds((await line.list('?q=azul&channel=other')).data)).toEqual([])
    expect(await line.world.get('/rest/threads?q=azul', { workspace: 999 })).toMatchObject({
      json: { data: [] },
    })
    expect((await line.world.call('DELETE', '/rest/threads/searched')).status).toBe(200)
    expect(extIds((await line.list('?q=azul')).data)).toEqual([])
    const of = { thread: /"searched"/ }
    await eventually(
      async () => (await line.world.database.collection('messageWords').countDocuments(of)) === 0,
    )
  })

  test('says whether the person ever wrote in a thread', async () => {
    await line.world.post('n-1', text('Your order has left', 'notified'))
    await line.listed('?wrote=false', (threads) => extIds(threads).includes('notified'))
    expect(extIds((await line.list('?wrote=true')).data)).not.toContain('notified')
    await line.world.post('n-2', said('Thank you', 'notified'))
    await line.listed('?wrote=true&status=open', (threads) => extIds(threads).includes('notified'))
    await line.listed('?wrote=false', (threads) => !extIds(threads).includes('notified'))
  })

  test('says of a thread whose message ended without an answer that it is to be read, and why, until it was', async () => {
    await line.world.putChannel(7, line.rpc({ extId: 'mute', handlerUrl: 'native:agents/nobody' }))
    const asked = { ...said('Where is it?', 'unanswered'), extId: 'mute' }
    await line.world.post('u-1', asked)
    const { reason, receivedAt } = await line.world.message('u-1', 'dead')
    const [thread] = await line.listed('?channel=mute&unread=true', (threads) => threads.length === 1)
    expect(thread).toMatchObject({
      unread: 1,
      lastUnreadAt: receivedAt,
      unreadFor: { why: 'unanswered', reason, message: 'u-1' },
    })
    // Nobody waits for an answer to a message of a caller of the API.
    await line.world.post('u-2', { ...text('From the API', 'called'), extId: 'mute' })
    await line.change('unanswered', { unread: 0 })
    const read = await line.read('unanswered')
    expect(read).not.toHaveProperty('unreadFor')
    expect(read).toMatchObject({ lastUnreadAt: receivedAt })
  })

  test('says of a thread that a person has the last reason that says more than that', async () => {
    await line.world.putChannel(8, line.rpc({ extId: 'muted', handlerUrl: 'native:agents/nobody' }))
    await line.world.post('m-1', { ...said('One', 'muted-1'), extId: 'muted' })
    await line.world.message('m-1', 'dead')
    await line.listed('?channel=muted', (threads) => threads.length === 1)
    await line.change('muted-1', { handler: 'person' })
    await line.world.post('m-2', { ...said('Two', 'muted-1'), extId: 'muted' })
    await line.world.message('m-2', 'done')
    const [thread] = await line.listed('?channel=muted', ([one]) => one?.unread === 2)
    expect(thread).toMatchObject({ unreadFor: { why: 'unanswered', message: 'm-1' } })
  })

  test('is that of one workspace', async () => {
    await line.world.post('w-1', text('mine', 'of-mine'))
    await line.listed('', (threads) => extIds(threads).includes('of-mine'))
    const other = await line.world.get('/rest/threads', { workspace: 999 })
    expect(other).toMatchObject({ status: 200, json: { data: [], next: null } })
    expect((await line.world.get('/rest/threads/of-mine', { workspace: 999 })).status).toBe(404)
  })

  test.each(['limit=0', 'unread=1', 'handler=nobody', 'after=x', 'q=', 'name=x', 'q[$ne]=x'])(
    'refuses %s',
    async (query) => {
      expect((await line.world.get(`/rest/threads?${query}`)).status).toBe(422)
    },
  )
})

describe('a thread', () => {
  test('can be read as soon as its message is stored, by its extId and by its opaque id, with its task', async () => {
    await line.world.put('tasks', 1, {
      workflow: 1,
      currentStep: 1,
      status: 'active',
      name: 'Order',
      description: '',
      extId: 'read-at-once',
    })
    await line.world.post('r-1', said('hello', 'read-at-once'))
    await line.world.message('r-1', 'delivered')
    const thread = await line.read('read-at-once')
    expect(thread).toMatchObject({ extId: 'read-at-once', task: { status: 'active' }, handler: 'assistant' })
    expect(thread._id).toMatch(/^[\w-]+$/)
    expect(await line.read(thread._id)).toMatchObject({ _id: thread._id, extId: 'read-at-once' })
    expect((await line.world.get('/rest/threads/none-such')).status).toBe(404)
  })

  test('of an extId that two channels have is 409 without its channel', async () => {
    await line.world.putChannel(2, line.rpc({ extId: 'second' }))
    await line.world.post('c-1', text('one', 'twice'))
    await line.world.post('c-2', text('two', 'twice', 'second'))
    await line.world.message('c-1', 'delivered')
    await line.world.message('c-2', 'delivered')
    await line.listed('?channel=second', (threads) => threads.length === 1)
    await line.listed('?channel=line', (threads) => extIds(threads).includes('twice'))
    expect(await line.world.get('/rest/threads/twice')).toMatchObject({
      status: 409,
      json: { code: 'several_channels' },
    })
    const { _id } = await line.read('twice?channel=second')
    expect(await line.read(_id)).toMatchObject({ channel: 'second', lastMessage: 'two' })
  })
})

describe('a conversation', () => {
  test('is read oldest first, from its end, with cursors to both sides', async () => {
    for (const n of [0, 1, 2, 3]) {
      await line.world.post(`t-${n}`, said(`question ${n}`, 'told'))
      await line.world.message(`t-${n}`, 'delivered')
    }
    const texts = async (query: string) => {
      const page = await line.conversation('told', query)
      return { ...page, data: page.data.map(({ from, text }) => `${from}: ${text}`) }
    }
    const both = (n: number) => [`person: question ${n}`, `assistant: question ${n}`]
    const end = await texts('?limit=2')
    expect(end.data).toEqual([...both(2), ...both(3)])
    const before = await texts(`?limit=2&before=${end.previous}`)
    expect(before.data).toEqual([...both(0), ...both(1)])
    expect(before.previous).toBeNull()
    expect((await texts(`?limit=2&after=${before.next}`)).data).toEqual(end.data)
    const yetToCome = await texts(`?after=${end.next}`)
    expect(yetToCome.data).toEqual([])
    await line.world.post('t-4', text('From the API', 'told'))
    await line.world.message('t-4', 'delivered')
    expect((await texts(`?after=${yetToCome.next}`)).data).toEqual(['api: From the API'])
    expect(
      (await line.world.get(`/rest/threads/told/messages?after=${end.next}&before=${end.next}`)).status,
    ).toBe(422)
  })
})
