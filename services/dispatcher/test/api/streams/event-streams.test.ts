import { afterEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import { createDeltas } from '../../../src/agents/deltas.ts'
import { rpcLine, text } from '../../rpc-line.ts'
import { inWords, type ReadStream, readEvents } from './read-events.ts'

const line = rpcLine()
const open: ReadStream[] = []
afterEach(() => {
  for (const stream of open.splice(0)) stream.close()
})

async function follow(path: string, options: Parameters<typeof line.world.stream>[1] = {}) {
  const response = await line.world.stream(path, options)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  const stream = readEvents(response)
  open.push(stream)
  await eventually(() => (stream.lastId() === '' ? undefined : true))
  return stream
}

const untilDelivered = (stream: ReadStream, id: string) =>
  stream.until((events) => events.find((event) => inWords(event) === `state ${id} delivered`))
const wordsOf = (stream: ReadStream, thread: string) =>
  stream.events.filter(({ data }) => JSON.parse(data).thread === thread).map(inWords)
const STATES = ['received', 'handled', 'sending', 'delivered']
const whole = (id: string) => [`message ${id}`, ...STATES.map((state) => `state ${id} ${state}`)]
const named = (words: string[]) => words.map((each) => each.replace(/^(message \S+) .*/, '$1'))

describe('the event stream of a workspace', () => {
  test('has each message and each state that it passes, in order', async () => {
    const stream = await follow('/rest/events')
    for (const id of ['e-1', 'e-2', 'e-3']) await line.world.post(id, text(id, 'ordered'))
    await untilDelivered(stream, 'e-3')
    for (const id of ['e-1', 'e-2', 'e-3'])
      expect(named(wordsOf(stream, 'ordered').filter((words) => words.includes(id)))).toEqual(whole(id))
    // A thread's messages run one after another.
    const ends = wordsOf(stream, 'ordered').filter((words) => /^state .* delivered$/.test(words))
    expect(ends).toEqual(['e-1', 'e-2', 'e-3'].map((id) => `state ${id} delivered`))
    const { headers } = stream.response
    expect([headers.get('cache-control'), headers.get('x-accel-buffering')]).toEqual(['no-store', 'no'])
  })

  test('has a message that waits for its next try, and what comes after it', async () => {
    const statuses = [500]
    line.endpoint.respond = (_call, res) => void res.writeHead(statuses.shift() ?? 200).end('{}')
    const stream = await follow('/rest/events')
    await line.world.post('f-1', text('f-1', 'failing'))
    const { data } = await stream.until((events) =>
      events.find((event) => inWords(event).startsWith('message f-1')),
    )
    expect(JSON.parse(data).waiting).toMatchObject({ for: 'retry', code: 'http_500' })
    await line.world.post('f-2', text('f-2', 'fine'))
    await untilDelivered(stream, 'f-2')
    expect(named(wordsOf(stream, 'fine'))).toEqual(whole('f-2'))
  })

  test('goes on after any of its events, at this instance and at another one', async () => {
    const stream = await follow('/rest/events')
    for (let n = 0; n < 5; n++) await line.world.post(`r-${n}`, text(`${n}`, 'resumed'))
    await untilDelivered(stream, 'r-4')
    const all = stream.events.filter(({ data }) => JSON.parse(data).thread === 'resumed')
    expect(all).toHaveLength(25)
    const other = await line.world.startDispatcher()
    for (const [at, { id }] of [...all.entries()].filter(([at]) => at % 3 === 0))
      for (const url of [undefined, other.url]) {
        const again = await follow('/rest/events', { lastEventId: id, ...(url && { url }) })
        if (at < 24) await untilDelivered(again, 'r-4')
        const rest = again.events.filter(({ data }) => JSON.parse(data).thread === 'resumed')
        expect([at, rest]).toEqual([at, all.slice(at + 1)])
        again.close()
      }
    await other.close()
  })

  test('that had no event yet goes on from where it began', async () => {
    const first = await follow('/rest/events')
    const begun = first.lastId()
    first.close()
    await line.world.post('b-1', text('x', 'begun'))
    await line.world.message('b-1', 'delivered')
    const stream = await follow('/rest/events', { lastEventId: begun })
    await untilDelivered(stream, 'b-1')
    expect(named(wordsOf(stream, 'begun'))).toEqual(whole('b-1'))
  })

  test('says so where the id is none of its own, and goes on from now', async () => {
    for (const lastEventId of ['nonsense', 'ffffffff00000001~']) {
      const stream = await follow('/rest/events', { lastEventId })
      const gap = await stream.until((events) => events.find(({ event }) => event === 'gap'))
      expect([lastEventId, JSON.parse(gap.data)]).toEqual([lastEventId, { reason: expect.any(String) }])
      const id = `g-${open.length}-${lastEventId.slice(0, 3)}`
      await line.world.post(id, text('x', `gap ${id}`))
      await untilDelivered(stream, id)
      expect(named(wordsOf(stream, `gap ${id}`))).toEqual(whole(id))
    }
  })

  test('has nothing of another workspace', async () => {
    const workspace = line.world.workspace + 1
    await line.world.putChannel(1, line.rpc(), { workspace })
    const [own, other] = [await follow('/rest/events'), await follow('/rest/events', { workspace })]
    await line.world.post('w-1', text('x', 'walls'))
    await untilDelivered(own, 'w-1')
    await line.world.post('w-2', text('x', 'walls'), { workspace })
    await untilDelivered(other, 'w-2')
    expect(named(wordsOf(other, 'walls'))).toEqual(whole('w-2'))
    expect(JSON.stringify(own.events)).not.toContain('w-2')
    const again = await follow('/rest/events', { workspace, lastEventId: own.events[0]?.id ?? '' })
    await untilDelivered(again, 'w-2')
    expect(JSON.stringify(again.events)).not.toContain('w-1')
  })
})

describe('the event stream of a thread', () => {
  test('has the events of that thread, and of one channel where it is named', async () => {
    await line.world.putChannel(2, line.rpc({ extId: 'other line' }))
    const [both, one] = [
      await follow('/rest/threads/shared/events'),
      await follow(`/rest/threads/shared/events?channel=${encodeURIComponent('other line')}`),
    ]
    await line.world.post('t-1', text('x', 'elsewhere'))
    await line.world.post('t-2', text('x', 'shared'))
    await line.world.post('t-3', text('x', 'shared', 'other line'))
    await untilDelivered(both, 't-2')
    await untilDelivered(both, 't-3')
    await untilDelivered(one, 't-3')
    expect(named(one.events.map(inWords))).toEqual(whole('t-3'))
    expect(JSON.stringify(both.events)).not.toContain('t-1')
  })
})

describe('the document of a thread', () => {
  test('is an event whenever it changes, with what readers may see of it, also for a stream by its opaque id', async () => {
    const { workspace, database } = line.world
    const id = Buffer.from(JSON.stringify(['line', 'listed'])).toString('base64url')
    const streams = [await follow('/rest/events'), await follow(`/rest/threads/${id}/events`)]
    const threads = database.collection<{ _id: string }>('threads')
    const stored = { channel: 'line', extId: 'listed', user: { name: 'Jo' }, handler: 'assistant', unread: 0 }
    await threads.insertOne({ _id: 'internal', workspace, ...stored, words: ['jo'] } as never)
    await threads.updateOne({ _id: 'internal' }, { $set: { unread: 1 } } as never)
    await threads.insertOne({ _id: 'other', workspace: workspace + 1, ...stored } as never)
    await threads.insertOne({ _id: 'elsewhere', workspace, ...stored, extId: 'not listed' } as never)
    await threads.updateOne({ _id: 'internal' }, { $set: { unread: 2 } } as never)
    for (const stream of streams) {
      const own = await stream.until((events) => {
        const found = events.filter(({ event, data }) => event === 'thread' && JSON.parse(data)._id === id)
        return found.some(({ data }) => JSON.parse(data).unread === 2) ? found : undefined
      })
      expect(own).toHaveLength(3)
      expect(JSON.parse(own[0]?.data ?? '')).toMatchObject({ _id: id, extId: 'listed', user: { name: 'Jo' } })
      expect(JSON.stringify(own)).not.toMatch(/internal|words|workspace/)
    }
    const unlisted = streams.map(({ events }) => JSON.stringify(events).includes('not listed'))
    expect(unlisted).toEqual([true, false])
  })
})

describe('deltas', () => {
  const publisher = async () => {
    const { redisUrl } = await testServers()
    const redis = connectRedis(redisUrl, createLog({ service: 'test', level: 'silent' }))
    await eventually(() => redis.status === 'ready')
    const deltas = createDeltas({ redis, database: line.world.database.databaseName })
    return { redis, deltas }
  }
  const of = (thread: string, workspace = line.world.workspace) => ({
    ...{ workspace, message: 'm', channel: 'line', thread, turn: 1 },
  })

  test('come to the readers of their thread without an id, and say where in the text they belong', async () => {
    const { redis, deltas } = await publisher()
    const stream = await follow('/rest/threads/spoken/events')
    const before = stream.lastId()
    const said = deltas.begin(of('spoken'))
    for (const piece of ['Hel', 'lo', ' there']) said.push(piece)
    await said.end()
    said.push('.')
    await said.end()
    await deltas.begin(of('other thread')).end()
    const [first, second] = await stream.until((events) => (events.length === 2 ? events : undefined))
    const shown = { message: 'm', channel: 'line', thread: 'spoken', turn: 1 }
    expect(JSON.parse(first?.data ?? '')).toEqual({ ...shown, offset: 0, text: 'Hello there' })
    expect(JSON.parse(second?.data ?? '')).toEqual({ ...shown, offset: 11, text: '.' })
    expect([first?.event, first?.id, second?.id]).toEqual(['delta', before, before])
    redis.disconnect()
  })

  test('that a reader does not read end its stream, and nobody else’s', async () => {
    const { redis, deltas } = await publisher()
    const reading = await follow('/rest/threads/flooded/events')
    const slow = await line.world.stream('/rest/threads/flooded/events')
    const reader = slow.body?.getReader()
    await reader?.read()
    const metric = async () => (await line.world.metric('parley_event_stream_readers')).get('') ?? 0
    const both = await metric()
    const said = deltas.begin(of('flooded'))
    await eventually(async () => {
      for (let n = 0; n < 100; n++) said.push('x'.repeat(8 * 1024))
      await said.end()
      return (await metric()) < both
    })
    expect(reading.isEnded()).toBe(false)
    await reader?.cancel().catch(() => undefined)
    redis.disconnect()
  })
})

describe('who has a thread open', () => {
  test('comes to the readers of that thread without an id, and to nobody of another workspace', async () => {
    const { world } = line
    await world.post('p-1', text('x', 'opened'))
    await world.post('p-2', text('x', 'unopened'))
    await eventually(async () => (await world.get('/rest/threads/unopened')).status === 200)
    const workspace = world.workspace + 1
    const [all, one, other, foreign] = [
      await follow('/rest/events'),
      await follow('/rest/threads/opened/events'),
      await follow('/rest/threads/unopened/events'),
      await follow('/rest/events', { workspace }),
    ]
    const show = (body?: object) => world.call('POST', '/rest/threads/opened/presence', body)
    expect(await show({ typing: true })).toEqual({ status: 200, json: { shown: true } })
    expect(await show()).toEqual({ status: 200, json: { shown: true } })
    const presenceIn = (stream: ReadStream) => stream.events.filter(({ event }) => event === 'presence')
    for (const stream of [all, one]) {
      const found = await stream.until(() =>
        presenceIn(stream).length === 2 ? presenceIn(stream) : undefined,
      )
      const { _id, name } = world.account
      const data = { thread: 'opened', channel: 'line', by: { _id, name } }
      expect(found.map(({ data }) => JSON.parse(data))).toEqual([
        { ...data, typing: true },
        { ...data, typing: false },
      ])
    }
    expect([...presenceIn(other), ...presenceIn(foreign)]).toEqual([])
  })

  test('is refused of a thread that is not there, and where it says anything else', async () => {
    const show = (thread: string, body: object) =>
      line.world.call('POST', `/rest/threads/${thread}/presence`, body)
    expect((await show('never-there', {})).status).toBe(404)
    expect((await show('opened', { typing: 'yes' })).status).toBe(422)
    expect((await show('opened', { name: 'Somebody else' })).status).toBe(422)
  })
})

test('a stream is refused where its query or method is wrong', async () => {
  const { world } = line
  expect((await world.stream('/rest/events?x=1')).status).toBe(422)
  expect((await world.call('POST', '/rest/events', {})).status).toBe(405)
})

test('there is no stream at a path that ends in a slash', async () => {
  for (const path of ['/rest/events/', '/rest/threads/x/events/']) {
    const response = await line.world.stream(path)
    expect(response.status).toBe(404)
    await response.body?.cancel()
  }
})
