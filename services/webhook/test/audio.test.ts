import { describe, expect, test } from '@jest/globals'
import { eventually, untilReady } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { startIntakeWorld } from './intake-world.ts'
import type { Taken } from './take-queues.ts'

const KIB = 1024
const MIB = 1024 * KIB

const world = startedForTests(() => startIntakeWorld())

const message = { extId: 'line', user: {}, thread: { extId: 't' }, answer: {} }
const bodyOf = ({ delivery }: Taken) => JSON.parse(delivery.content.toString())
const workspace = () => world.caller.workspace._id
const audioAt = async (
  id: string,
  options: { workspace?: number; headers?: Record<string, string> } = {},
) => {
  const path = `/internal/workspaces/${options.workspace ?? workspace()}/audio/${id}`
  const response = await fetch(world.url + path, {
    headers: options.headers ?? world.asService('dispatcher'),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Posts as a caller does: again after a 503, when the database was too slow for what is large. */
const untilTaken = (body: object | string) =>
  eventually(async () => {
    const answer = await world.post(body)
    return answer.status === 503 ? undefined : answer
  })

describe('audio', () => {
  test('of 128 KiB travels in the message', async () => {
    await world.drain()
    const audio = 'a'.repeat(128 * KIB)
    expect((await world.post({ ...message, audio })).status).toBe(200)
    expect((await world.drain()).map(bodyOf)).toEqual([{ ...message, audio }])
  })

  test('beyond that is stored apart from it, and the response repeats the body exactly', async () => {
    await world.drain()
    const audio = `data:audio/ogg;base64,${'é'.repeat(1.5 * MIB)}\\n"`
    const text = JSON.stringify({ ...message, audio, input: 'after' })
    const answer = await world.post(text)
    expect([answer.status, answer.text === text]).toEqual([200, true])
    const id = answer.headers.get('x-message-id') ?? ''
    const bytes = Buffer.byteLength(audio)
    const [taken] = await world.drain()
    expect(taken && bodyOf(taken)).toEqual({
      ...message,
      audio: null,
      input: 'after',
      audioRef: { id, bytes, contentType: 'audio/ogg' },
    })
    const stored = await audioAt(id)
    expect([stored.status, stored.headers.get('content-length')]).toEqual([200, String(bytes)])
    expect(stored.text === audio).toBe(true)
  })

  test('of 16 MiB is taken, also in escapes; a byte more is not', async () => {
    const largest = 'x'.repeat(16 * MIB)
    expect((await untilTaken({ ...message, audio: largest })).status).toBe(200)
    const escaped = JSON.stringify({ ...message, audio: '/'.repeat(10 * MIB) }).replaceAll('/', '\\/')
    expect((await untilTaken(escaped)).status).toBe(200)
    expect((await world.post({ ...message, audio: `${largest}x` })).json.code).toBe('body_too_large')
  })

  test('does not make room for anything else', async () => {
    const audio = 'x'.repeat(2 * MIB)
    const rest = 'y'.repeat(MIB)
    for (const body of [
      { ...message, audio, input: rest },
      { ...message, meta: { audio }, input: 'z' },
      { ...message, [rest + rest]: 1 },
      { ...message, input: '"audio":"', meta: audio },
    ])
      expect((await world.post(body)).json.code).toBe('body_too_large')
    const twice = `{"audio":"${audio}","audio":"${audio}",${JSON.stringify(message).slice(1)}`
    expect((await world.post(twice)).json.code).toBe('body_too_large')
  })

  test('with an idempotency key is stored once, and a repeat finds it', async () => {
    await world.drain()
    const body = { ...message, audio: 'k'.repeat(200 * KIB) }
    const first = await world.post(body, { key: 'audio-key' })
    world.redis.cut()
    const second = await world.post(body, { key: 'audio-key' })
    world.redis.mend()
    await untilReady(world.url)
    expect([first.status, second.status]).toEqual([200, 200])
    const ids = new Set((await world.drain()).map(({ delivery }) => delivery.properties.messageId))
    expect([...ids]).toEqual([first.headers.get('x-message-id')])
    expect(await world.database.collection('audio.files').countDocuments({ length: 200 * KIB })).toBe(1)
  })

  test('is deleted after 30 days, chunks that lack their file included', async () => {
    const days30 = 30 * 24 * 60 * 60 * 1_000
    for (const name of ['audio.files', 'audio.chunks']) {
      const indexes = await world.database.collection(name).indexes()
      expect(indexes).toContainEqual(
        expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }),
      )
      const oldest = await world.database.collection(name).findOne({}, { sort: { expiresAt: 1 } })
      expect(Math.abs(oldest?.expiresAt - Date.now() - days30)).toBeLessThan(60_000)
    }
  })

  test('is erased for the dispatcher, in its own workspace only', async () => {
    const audio = 'e'.repeat(200 * KIB)
    const id = (await world.post({ ...message, audio })).headers.get('x-message-id') ?? ''
    const erase = async (own: number) => {
      const url = `${world.url}/internal/workspaces/${own}/audio/erase`
      const headers = { ...world.asService('dispatcher'), 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ ids: [id] }) })).status
    }
    expect(await erase(workspace() + 1)).toBe(200)
    expect((await audioAt(id)).status).toBe(200)
    expect(await erase(workspace())).toBe(200)
    expect((await audioAt(id)).status).toBe(404)
    expect(await world.database.collection('audio.chunks').countDocuments({ files_id: id as never })).toBe(0)
  })

  test('is only for the dispatcher, and of its own workspace', async () => {
    const audio = 'p'.repeat(200 * KIB)
    const id = (await world.post({ ...message, audio })).headers.get('x-message-id') ?? ''
    expect((await audioAt(id)).status).toBe(200)
    expect((await audioAt(id, { workspace: workspace() + 1 })).status).toBe(404)
    expect((await audioAt('nothing')).status).toBe(404)
    expect((await audioAt(id, { headers: world.asService('configuration') })).status).toBe(403)
    expect((await audioAt(id, { headers: {} })).status).toBe(401)
  })

  test('can not be stored while the database is unavailable: 503 within 5 s; what is small goes on', async () => {
    world.mongo.cut()
    const started = performance.now()
    const answer = await world.post({ ...message, audio: 'q'.repeat(200 * KIB) })
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true])
    expect(performance.now() - started).toBeLessThan(5_000)
    expect((await world.post({ ...message, audio: 'q' })).status).toBe(200)
    world.mongo.mend()
    await untilReady(world.url)
  })
})
