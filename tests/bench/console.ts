// How long each page of the console takes with ten thousand threads and a million messages, through the gateway.
import { buildConsole } from '@parley/console/build'
import { startBrowser } from '@parley/console/test/browser'
import {
  type Account,
  consolePages,
  goInside,
  readSeeded,
  register,
  signIn,
} from '@parley/console/test/pages'
import { seed } from '@parley/console/test/seed'
import { integer, parseConfig } from '@parley/shared/config'
import type { Browser } from 'playwright-core'
import { z } from 'zod'
import { quantile, report, reportFigure } from '../lab/report/results.ts'
import { startOwnSystem } from '../lab/system/own-system.ts'
import { seedMessages } from './seed-messages.ts'

const size = z.object({
  MESSAGES: integer({ min: 20_000, max: 5_000_000 })
    .default(1_000_000)
    .describe('Messages, a multiple of 1,000'),
  THREADS: integer({ min: 100, max: 100_000 }).default(10_000).describe('Threads, a multiple of 10'),
  ROUNDS: integer({ min: 10, max: 10_000 }).default(100).describe('How often each call is made'),
  COLD_STARTS: integer({ min: 1, max: 100 }).default(10).describe('First paints'),
})
/** The first workspace of a system. */
const WORKSPACE = 1
const READY_MS = 120_000
const WARM_UP = 3
const MAX_MS = 300
const MAX_PAINT_MS = 1_000

const { MESSAGES, THREADS, ROUNDS, COLD_STARTS } = parseConfig(size, process.env)
await buildConsole()
const own = await startOwnSystem({
  instances: {},
  async prepare({ servers }) {
    console.error(`${MESSAGES} messages of ${THREADS} threads are stored`)
    const mongo = { url: servers.mongo.url, database: 'dispatcher' }
    await seedMessages({ mongo, workspace: WORKSPACE, messages: MESSAGES, threads: THREADS })
    return {}
  },
  say: console.error,
})
const { system } = own
const browser = await startBrowser()
try {
  const { gatewayUrl: url } = system
  const account = await register(url, 'bench')
  await seed(system, account, { updates: 40 })
  const { accepted } = await readJson<{ accepted: number }>(url, account, '/rest/messages/traffic?last=week')
  if (accepted < MESSAGES / 2) throw new Error('what was stored is of another workspace')
  const calls = await callsOfPages(browser, { url, account })
  const rows = []
  for (const [call, pages] of calls) rows.push({ call, pages, ...(await measure(call, { url, account })) })
  rows.sort((one, other) => other.p99 - one.p99)
  console.log(`\nThe calls of the console's pages, ${ROUNDS} times each, in milliseconds`)
  console.table(
    rows.map((row) => ({ ...row, call: row.call.slice(0, 70), pages: row.pages.join(' ').slice(0, 40) })),
  )
  const [slowest = { p50: 0, p99: 0 }] = rows
  const all = rows.map(({ p99 }) => p99 / MAX_MS)
  report({
    row: `slowest of ${rows.length} calls of the console's pages, p99, ${MESSAGES} messages`,
    parley: `${slowest.p99.toFixed(0)} ms (p50 ${slowest.p50.toFixed(0)})`,
    against: `${MAX_MS} ms`,
    ratio: Math.max(...all),
    spread: [Math.min(...all), Math.max(...all)],
    reach: { most: 1 },
  })
  reportFigure({
    row: `first paint of the console on a cold cache, median of ${COLD_STARTS}`,
    values: await firstPaints(browser, url),
    ...{ of: MAX_PAINT_MS, unit: ' ms', reach: { most: 1 } },
  })
} finally {
  await browser.close()
  await own.stop()
}

interface Target {
  url: string
  account: Account
}

/** Returns the calls that pages make while they are opened: each call once, with the pages that make it. */
async function callsOfPages(browser: Browser, { url, account }: Target): Promise<Map<string, string[]>> {
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(READY_MS)
  const calls = new Map<string, string[]>()
  let path = '/'
  page.on('request', (request) => {
    const at = new URL(request.url())
    const call = at.pathname + at.search
    if (!call.startsWith('/rest/') || request.method() !== 'GET' || at.pathname.endsWith('/events')) return
    const pages = calls.get(call) ?? []
    calls.set(call, pages.includes(path) ? pages : [...pages, path])
  })
  await signIn(page, url, account)
  for (const [to, wait] of await pagesOf({ url, account })) {
    path = to || '/'
    await goInside(page, to, wait)
  }
  await context.close()
  return calls
}

/** The pages of the tests, and those that look into what was stored. */
async function pagesOf({ url, account }: Target): Promise<[string, string][]> {
  const read = <T>(path: string) => readJson<{ data: T[] }>(url, account, path)
  const { data: bulk } = await read<{ _id: string }>('/rest/threads?channel=line-7&limit=1')
  return [
    ...consolePages(await readSeeded((path) => readJson(url, account, path))),
    ...['?q=name7', '?unread=true', '?handler=person'].map((query): [string, string] => [
      `/conversations${query}`,
      '.threads a',
    ]),
    [`/conversations/${bulk[0]?._id}`, '.bubble'],
    ['/messages/bulk-500', '.timeline'],
    ...[
      ...['state=received,handled,sending', 'state=sent,delivered,read', 'state=done', 'state=failed'],
      ...['channel=line-3', 'thread=thread-77', 'phone=%2B5511910000077', 'providerId=wamid.4711'],
      ...['requestId=request-4711', 'fault=caller', 'channel=line-2&state=dead', 'fault=caller&state=dead'],
    ].map((query): [string, string] => [`/messages?${query}`, 'tbody tr']),
  ]
}

async function readJson<T>(url: string, { token }: Account, path: string): Promise<T> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} gave ${response.status}: ${text.slice(0, 200)}`)
  return JSON.parse(text)
}

async function measure(call: string, { url, account }: Target): Promise<{ p50: number; p99: number }> {
  const times: number[] = []
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const began = performance.now()
    await readJson(url, account, call)
    if (round >= 0) times.push(performance.now() - began)
  }
  const at = (share: number) => Number(quantile(times, share).toFixed(1))
  return { p50: at(0.5), p99: at(0.99) }
}

/** Each in a context of its own, so with nothing in its cache. */
async function firstPaints(browser: Browser, url: string): Promise<number[]> {
  const paints: number[] = []
  for (let start = 0; start < COLD_STARTS; start++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${url}/console`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    // It is noted a moment after it happened.
    const painted = await page.waitForFunction(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    )
    paints.push((await painted.jsonValue()) ?? Number.NaN)
    await context.close()
  }
  return paints
}
