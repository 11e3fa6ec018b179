import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, metaMessage, payloadOf, postPayload } from './meta-payload.ts'

const MIB = 1024 * 1024
const HALF = Buffer.alloc(1.5 * MIB, 'x')
const WAIT = { timeoutMs: 60_000, intervalMs: 20 }

let world: IntakeWorld
let gateway: string
const sockets: Socket[] = []
beforeAll(async () => {
  world = await startIntakeWorld()
  gateway = (await world.startGateway()).url
  await world.putChannel(1, metaChannel('line'))
}, START_MS)
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => world.close(), START_MS)

const hookOf = (slug: string) => `/api/hooks/whatsapp/${slug}/line`

/** Sends half of a body of 3 MiB, each on a connection of its own, and says what was answered. */
function sendHalf(url: string, path: string, headers: Record<string, string> = {}): { answer(): string } {
  let received = ''
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('data', (chunk) => {
    received += String(chunk)
  })
  socket.on('error', () => undefined)
  sockets.push(socket)
  const lines = Object.entries({ host: 'x', 'content-length': String(3 * MIB), ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n`)
  socket.write(HALF)
  return { answer: () => received }
}

const statuses = (all: { answer(): string }[]) =>
  all.map(({ answer }) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer())?.[1] ?? 0))

const large = { extId: 'line', user: {}, thread: { extId: 't' }, answer: {}, audio: 'x'.repeat(3 * MIB) }
const payload = payloadOf({ messages: [metaMessage('w', { text: { body: 'x'.repeat(2 * MIB) } })] })

test('140 half-sent bodies to an unknown slug are 404 before they are read', async () => {
  const attack = Array.from({ length: 140 }, () => sendHalf(world.url, hookOf('nobody')))
  expect(await waitUntil(() => !statuses(attack).includes(0), WAIT)).toBe(true)
  expect(new Set(statuses(attack))).toEqual(new Set([404]))
})

test('140 half-sent bodies to a channel that is there leave room for signed and authenticated ones', async () => {
  const from = { 'x-forwarded-for': '203.0.113.9' }
  const attack = Array.from({ length: 140 }, () => sendHalf(world.url, hookOf(world.slug), from))
  // The attacker's own share is small, and what is beyond it is the attacker's fault.
  expect(await waitUntil(() => statuses(attack).filter((status) => status === 429).length > 100, WAIT)).toBe(
    true,
  )
  expect(new Set(statuses(attack))).toEqual(new Set([0, 429]))
  const meta = await postPayload(`${world.url}${hookOf(world.slug)}`, payload, {
    headers: { 'x-forwarded-for': '203.0.113.10' },
  })
  expect([meta.status, (await world.post(large)).status]).toEqual([200, 200])
})

test('half-sent bodies from the addresses of one IPv6 network have the share of one sender', async () => {
  const attack = Array.from({ length: 40 }, (_, at) =>
    sendHalf(world.url, hookOf(world.slug), { 'x-forwarded-for': `2001:db8:0:1::${(at + 1).toString(16)}` }),
  )
  expect(await waitUntil(() => statuses(attack).filter((status) => status === 429).length > 20, WAIT)).toBe(
    true,
  )
})

test('through the gateway, half-sent bodies leave callers with a token as they were', async () => {
  const body = { name: 'B', email: 'b@b.example', phone: '1', password: 'a long password', namespace: 'b' }
  const json = { 'content-type': 'application/json' }
  const registration = { method: 'POST', headers: json, body: JSON.stringify(body) }
  const registered = await fetch(`${gateway}/api/auth/register`, registration)
  const { accessToken } = (await registered.json()) as { accessToken: string }
  const attack = Array.from({ length: 140 }, () => sendHalf(gateway, hookOf(world.slug)))
  expect(await waitUntil(() => statuses(attack).filter((status) => status === 429).length >= 100, WAIT)).toBe(
    true,
  )
  for (const message of [large, { ...large, audio: null }]) {
    const answer = await fetch(`${gateway}/api/hooks/whatsapp`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${accessToken}` },
      body: JSON.stringify(message),
    })
    expect(answer.status).toBe(200)
    await answer.body?.cancel()
  }
})
