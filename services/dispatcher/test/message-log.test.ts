import { describe, expect, test } from '@jest/globals'
import { rpcLine, text } from './rpc-line.ts'

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
