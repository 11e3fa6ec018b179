import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRouter, routes } from '@parley/gateway/routes'
import { longestTurn } from '@parley/local/testing/longest-turn'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Caller } from '@parley/shared/internal-token'
import { derivedSecret } from '@parley/shared/signing-secret'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, payloadOf, postPayload, VERIFY_TOKEN } from './meta-payload.ts'

const serviceKey = randomBytes(32).toString('base64')
let world: IntakeWorld
let viewer: Caller
beforeAll(async () => {
  world = await startIntakeWorld({ SIGNING_SECRET: serviceKey })
  const { caller } = world
  viewer = { ...caller, role: { _id: caller.role._id + 2, name: 'VIEWER', version: 1 } }
  await world.putChannel(1, metaChannel('line é'))
  await world.putChannel(2, metaChannel('bare', { appSecret: null, verifyToken: '' }))
  await world.putChannel(3, metaChannel('a/b', { signingSecrets: [`whsec_${'own+'.repeat(8)}`] }))
  await world.putChannel(4, { ...metaChannel('rpc'), hook: 'rpc' })
}, START_MS)
afterAll(() => world.close(), START_MS)

async function list(query = '', as?: Caller) {
  const headers = { ...world.as('webhook', as), 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.test' }
  const answer = await fetch(`${world.url}/rest/hooks${query}`, { headers })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) }
}

describe('GET /rest/hooks', () => {
  test('says where the provider sends to, what to paste where, and what is missing', async () => {
    const { status, headers, json } = await list()
    expect([status, headers.get('cache-control'), json.next]).toEqual([200, 'no-store', null])
    const [first, bare, unaddressable, rpc] = json.data
    const url = `https://api.test/api/hooks/whatsapp/${world.slug}/line%20%C3%A9`
    expect(first).toMatchObject({
      channel: { _id: 1, name: 'WhatsApp', extId: 'line é', hook: 'whatsapp' },
      url,
      problems: [],
      handshake: { succeeded: false, at: null },
      lastReceivedAt: null,
      lastError: null,
    })
    expect(first.setup[0]).toMatchObject({ paste: url })
    expect(bare.problems).toEqual([
      'config.verifyToken is missing: the handshake is refused.',
      'config.appSecret is missing: what the provider sends is refused.',
    ])
    expect([unaddressable.url, unaddressable.problems.length, unaddressable.setup]).toEqual([null, 1, []])
    expect([rpc.setup, rpc.problems]).toEqual([[], []])
  })

  test('names no secret, but the derived signing secret to those who may write the channel', async () => {
    const mine = await list()
    expect(mine.text).not.toMatch(/app secret|verify token"|whsec_own/)
    const workspace = world.caller.workspace._id
    expect(mine.json.data[0].signingSecret).toEqual({
      source: 'derived',
      value: derivedSecret({ workspace, channel: 1, serviceKey }),
    })
    expect(mine.json.data[2].signingSecret).toEqual({ source: 'channel' })
    const theirs = await list('', viewer)
    expect([theirs.status, theirs.json.data.length]).toEqual([200, 4])
    expect(theirs.text).not.toMatch(/signingSecret|whsec_/)
  })

  test('shows the handshake, of what came last, and of the last error', async () => {
    const hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line%20%C3%A9`
    const query = { 'hub.mode': 'subscribe', 'hub.challenge': '1' }
    const shake = (token: string) =>
      fetch(`${hook}?${new URLSearchParams({ ...query, 'hub.verify_token': token })}`)
    expect((await shake('wrong')).status).toBe(403)
    expect((await shake(VERIFY_TOKEN)).status).toBe(200)
    expect((await postPayload(hook, payloadOf({}))).status).toBe(200)
    const seen = await eventually(async () => {
      const [first] = (await list()).json.data
      return first.lastError && first.lastReceivedAt && first.handshake.succeeded ? first : undefined
    })
    expect(seen.lastError).toEqual({
      at: expect.any(String),
      code: 'verify_token_wrong',
      message: expect.any(String),
    })
    expect(Math.abs(Date.now() - Date.parse(seen.handshake.at))).toBeLessThan(60_000)
  })

  test('goes page by page, and refuses what it does not know', async () => {
    const first = (await list('?limit=3')).json
    expect([first.data.length, first.next]).toEqual([3, '3'])
    const second = (await list(`?limit=3&after=${first.next}`)).json
    expect([
      second.data.map(({ channel }: { channel: { _id: number } }) => channel._id),
      second.next,
    ]).toEqual([[4], null])
    expect((await list('?after=004')).json).toEqual({ data: [], next: null })
    for (const query of ['?limit=0', '?limit=201', '?after=x', '?after=9999999999999999', '?name=x'])
      expect((await list(query)).status).toBe(422)
  })

  test('names no channel that the caller may not read, and fills its pages with the others', async () => {
    const pages = async (read: string, limit: number) => {
      const as = await world.inRole([{ schema: 'true', read, write: '' }])
      const found: unknown[] = []
      for (let after: string | null = '0'; after !== null; ) {
        const { json } = await list(`?limit=${limit}&after=${after}`, as)
        found.push([json.data.map(({ channel }: { channel: { _id: number } }) => channel._id), json.next])
        after = json.next
      }
      return found
    }
    expect(await pages('doc._id == 2 || doc._id == 4', 1)).toEqual([
      [[2], '2'],
      [[4], null],
    ])
    expect(await pages('doc._id == 1', 1)).toEqual([[[1], null]])
    expect(await pages('doc._id == 9', 1)).toEqual([[[], null]])
    expect(await pages('true', 2)).toEqual([
      [[1, 2], '2'],
      [[3, 4], null],
    ])
  })

  test('shows only the own workspace, and needs a caller who may read channels', async () => {
    const other = { ...world.caller, workspace: { ...world.caller.workspace, _id: 999 } }
    expect((await list('', other)).json.data).toEqual([])
    const provider = {
      ...world.caller,
      role: { _id: world.caller.role._id + 3, name: 'PROVIDER', version: 1 },
    }
    expect((await list('', provider)).status).toBe(403)
    expect((await fetch(`${world.url}/rest/hooks`)).status).toBe(401)
    expect(
      (await fetch(`${world.url}/rest/hooks`, { method: 'POST', headers: world.as('webhook') })).status,
    ).toBe(405)
  })
})

describe('a rule that searches much of each channel', () => {
  const CHANNELS = 100
  const search = 'doc.config.s.includes(doc.config.u) || doc.config.s.indexOf(doc.config.u) > 0'
  const config = { s: 'a'.repeat(16_384), u: `${'a'.repeat(512)}b${'a'.repeat(511)}` }

  test('lets others run while a list is made', async () => {
    for (let id = 11; id < 11 + CHANNELS; id++) await world.putChannel(id, metaChannel(`long ${id}`, config))
    const searching = await world.inRole([{ schema: 'true', read: `${search} || true`, write: search }])
    let listed: unknown
    const before = process.cpuUsage()
    const longest = await longestTurn(async () => {
      listed = (await list('?limit=200', searching)).json.data.length
    })
    const { user, system } = process.cpuUsage(before)
    expect(listed).toBe(4 + CHANNELS)
    expect(longest).toBeLessThan((user + system) / 1_000 / 3)
    for (let id = 11; id < 11 + CHANNELS; id++) await world.deleteChannel(id)
  })
})

test("the gateway knows the routes of Meta's webhook and of the list", () => {
  const find = createRouter(routes)
  expect(find('/rest/hooks')).toMatchObject({ upstream: 'webhook', access: 'authenticated' })
  expect(find('/api/hooks/whatsapp/acme/line')).toMatchObject({ upstream: 'webhook', access: 'public' })
})
