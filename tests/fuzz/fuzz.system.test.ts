import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { createHttpServer } from '@parley/shared/http-server'
import { SERVICES } from '@parley/shared/internal-token'
import { fuzz } from './fuzz.ts'
import { KINDS, readRegressions } from './fuzz-case.ts'
import { attack, judge } from './judge.ts'
import { hasPassed } from './report.ts'
import { type FuzzWorld, prepareWorld } from './world.ts'

const SEED = 20_261_120
const REQUESTS = 400

let system: Parley
let server: Server
let url: string
let world: FuzzWorld
beforeAll(async () => {
  // Where the servers that misbehave are.
  system = await startParley({
    services: [...SERVICES],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  server = createHttpServer(system.services.gateway.app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  world = await prepareWorld({ url, hidden: [] })
})
afterAll(async () => {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
  await system.close()
})

test.each(readRegressions())('not again: $found', async ({ case: one }) => {
  expect((await attack(one, world)).failures).toEqual([])
})

test('a sample of hostile requests finds nothing', async () => {
  const options = { target: { url, hidden: [] }, requests: REQUESTS, seed: SEED, concurrency: 4 }
  const run = await fuzz({ ...options, saveRegressions: false, say: () => undefined })
  expect(run.tally.findings).toEqual([])
  expect(run.roundTrips.changed).toEqual([])
  expect(run.payloads).toEqual({ sent: REQUESTS / 10, wrong: [] })
  const report = { ...run, crashed: [], processes: [], seconds: 0, seed: SEED }
  expect(hasPassed(report)).toBe(true)
  const use = { name: 'dispatcher', mib: 0, delayMs: 0 }
  for (const beyond of [{ mib: 1_000 }, { delayMs: 501 }])
    expect(hasPassed({ ...report, processes: [use, { ...use, ...beyond }] })).toBe(false)
  expect(run.tally.total()).toBeGreaterThanOrEqual(REQUESTS)
  for (const kind of KINDS) expect([kind, run.tally.sent[kind] > 0]).toEqual([kind, true])
})

test('what breaks a rule is seen', () => {
  const response = (status: number, body: object, headers: Record<string, string> = {}) => ({
    responses: [
      {
        status,
        headers: new Headers({ 'content-type': 'application/json', 'x-request-id': 'r', ...headers }),
        text: JSON.stringify(body),
      },
    ],
  })
  const one = {
    kind: 'operation',
    caller: 'nobody',
    method: 'GET',
    target: '/rest/jobs',
    headers: [],
  } as const
  const judging = { one, target: '/rest/jobs', requestId: 'r', forbidden: ['mark-1'] }
  const oracles = (exchange: Parameters<typeof judge>[1], more: object = {}) =>
    new Set(judge({ ...judging, ...more }, exchange).map(({ oracle }) => oracle))
  const page = { data: [], next: null }
  expect(oracles(response(200, page), { one: { ...one, caller: 'VIEWER' } })).toEqual(new Set())
  expect(oracles(response(200, page))).toEqual(new Set(['permission']))
  expect(oracles(response(200, { data: 1 }))).toEqual(new Set(['permission', 'outside the document']))
  expect(oracles(response(200, { ...page, next: 'mark-1' }))).toContain('leak')
  expect(oracles(response(200, page, { server: 'x' }))).toContain('leak')
  expect(oracles(response(200, page, { 'x-request-id': 'other' }))).toContain('outside the document')
  expect(oracles(response(418, {}))).toContain('outside the document')
  expect(oracles(response(503, {}))).toContain('5xx')
  expect(oracles(response(200, page), { one: { ...one, expectedStatuses: [401] } })).toContain('wrong status')
  expect(oracles({ responses: [] })).toEqual(new Set(['no answer']))
})
