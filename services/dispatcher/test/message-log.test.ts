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

  test('shows nothing of another workspace', async () => {
    const other = { workspace: line.world.workspace + 1_000 }
    expect((await line.world.get('/rest/messages/m-list-0', other)).status).toBe(404)
    expect((await line.world.get('/rest/messages', other)).json).toEqual({ data: [], next: null })
    expect((await line.world.get('/rest/messages/nothing')).status).toBe(404)
  })
})
