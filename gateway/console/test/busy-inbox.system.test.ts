import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { integer, parseConfig } from '@parley/shared/config'
import type { BrowserContext } from 'playwright-core'
import { z } from 'zod'
import { add, atRate, countNotices, firstPaint, memoryOf, type Noticed, writingTab } from './busy-inbox.ts'
import { consoleSystem, DESK } from './console-system.ts'
import { type Account, signIn } from './pages.ts'

const { DURATION_S, CONVERSATIONS, RATE, TABS } = parseConfig(
  z.object({
    DURATION_S: integer({ min: 20, max: 7_200 }).default(40).describe('How long people write'),
    CONVERSATIONS: integer({ min: 100, max: 20_000 }).default(100).describe('With the team'),
    RATE: integer({ min: 1, max: 100 }).default(4).describe('Messages a second'),
    TABS: integer({ min: 2, max: 20 }).default(4).describe('Of both agents together'),
  }),
  process.env,
)
/** By hand a quiet machine is expected. */
const MAX_PAINT_MS = process.env.DURATION_S === undefined ? 15_000 : 1_000
const MAX_GROWTH_MIB = 6
const SAMPLES = 6
const AT_ONCE = 16
const BETWEEN_PAINTS_MS = 2_000
const LONG_MS = 60_000

const system = consoleSystem()
const call = (method: string, path: string, options: { body?: object; token: string }) =>
  system.parley.call(method, path, options)

let agents: Account[]
/** The ids of the conversations; the last are those that the agents write in. */
let threads: string[]
const OWN = TABS * 2

beforeAll(async () => {
  const { token } = system.garden
  const config = {
    phoneNumberId: '9101',
    accessToken: 'secret',
    apiUrl: `${system.parley.system.simulatorUrl}/v23.0`,
  }
  const channel = {
    name: 'Line',
    description: '',
    extId: 'line',
    hook: 'whatsapp',
    callback: 'whatsapp',
    config,
  }
  const body = { ...channel, handlerUrl: 'native:agents/none' }
  expect((await call('PUT', '/rest/channels/1', { body, token })).status).toBe(200)
  const bruno = { email: 'bruno@garden.example.com', password: 'another horse battery' }
  const user = { ...bruno, name: 'Bruno Lima', role: 'MEMBER' }
  expect((await call('POST', '/rest/users', { body: user, token })).status).toBe(200)
  agents = [system.garden, { ...system.garden, ...bruno }]
  await each(CONVERSATIONS + OWN, (at) => say(at, 'Hello'))
  const found = new Map<string, string>()
  await each(CONVERSATIONS + OWN, async (at) => {
    const extId = extIdOf(at)
    const { _id } = await eventually(async () => {
      const { status, json } = await call('PATCH', `/rest/threads/${extId}`, {
        ...{ token, body: { handler: 'person', unread: 0 } },
      })
      return status === 200 && json
    })
    found.set(extId, String(_id))
  })
  threads = Array.from({ length: CONVERSATIONS + OWN }, (_, at) => found.get(extIdOf(at)) ?? '')
}, 1_200_000)

const extIdOf = (at: number) => `person-${at}`

const nameOf = (at: number) => `Person ${at}`

async function say(at: number, input: string): Promise<void> {
  const user = { name: nameOf(at), phone: `55119${String(10_000_000 + at)}` }
  const body = { extId: 'line', user, thread: { extId: extIdOf(at) }, answer: {}, input }
  const { status, text } = await call('POST', '/api/hooks/whatsapp', { body, token: system.garden.token })
  if (status !== 200) throw new Error(text)
}

/** Runs for each number below `count`, some at once. */
async function each(count: number, run: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

/** A browser of an agent whose notices are counted, on the desktop and of everything. */
async function onBrowsers(run: (browsers: { context: BrowserContext; noticed: Noticed }[]) => Promise<void>) {
  await system.onPage({ viewport: DESK }, async (first, one) => {
    await system.onPage({ viewport: DESK }, async (second, other) => {
      const browsers = []
      for (const [at, page] of [first, second].entries()) {
        const context = at === 0 ? one : other
        const noticed = await countNotices(context)
        await signIn(page, system.url, agents[at] ?? system.garden)
        await system.open(page, '/account', '.rows')
        await page.getByLabel('On the desktop').click()
        await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
        browsers.push({ context, noticed })
      }
      await run(browsers)
    })
  })
}

test(
  `two agents with ${TABS} tabs lose no draft and hear of each message once, at ${RATE} messages a second`,
  async () => {
    await onBrowsers(async (browsers) => {
      const tabs: (ReturnType<typeof writingTab> & { samples: { heapMiB: number; nodes: number }[] })[] = []
      for (let at = 0; at < TABS; at++) {
        const { context } = browsers[at % browsers.length] ?? browsers[0] ?? failed()
        const page =
          at < browsers.length ? (context.pages()[0] ?? (await context.newPage())) : await context.newPage()
        page.setDefaultTimeout(LONG_MS)
        await system.open(page, `/conversations/${threads[CONVERSATIONS + at * 2]}`, '.reply textarea')
        const own = [0, 1].map((of) => threads[CONVERSATIONS + at * 2 + of] ?? '')
        tabs.push({ ...writingTab(page, own), samples: [] })
      }
      const ending = new AbortController()
      const said = new Map<string, number>()
      const posts = atRate(
        async (at) => {
          const text = `Message ${at}`
          // Every tenth goes to a conversation that somebody writes in.
          if (at % 10 === 9) return say(CONVERSATIONS + (Math.floor(at / 10) % OWN), text)
          add(said, nameOf(at % CONVERSATIONS), 1)
          await say(at % CONVERSATIONS, text)
        },
        { rate: RATE, signal: ending.signal },
      )
      const writing = Promise.all(tabs.map((tab) => tab.write(ending.signal)))
      const paints: Awaited<ReturnType<typeof firstPaint>>[] = []
      const sampling = (async () => {
        const sessions = await Promise.all(tabs.map(({ page }) => page.context().newCDPSession(page)))
        const startedAt = performance.now()
        for (let sample = 1; sample <= SAMPLES; sample++) {
          await pause(Math.max(0, startedAt + (sample * DURATION_S * 1_000) / SAMPLES - performance.now()))
          for (const [at, { page, samples }] of tabs.entries())
            samples.push(await memoryOf(page, sessions[at] ?? failed()))
        }
      })().finally(() => ending.abort())
      const painting = (async () => {
        while (!ending.signal.aborted) {
          const { context } = browsers[paints.length % browsers.length] ?? failed()
          paints.push(await firstPaint(context, `${system.url}/console/conversations`))
          await pause(BETWEEN_PAINTS_MS)
        }
      })()
      const [posted] = await Promise.all([posts, writing, sampling, painting])
      for (const tab of tabs) await tab.finish()
      const missed = ({ from }: Noticed) =>
        [...said]
          .filter(([name, count]) => from.get(name) !== count)
          .map(([name, count]) => `${name}: ${from.get(name) ?? 0} of ${count}`)
      for (const { noticed } of browsers)
        await eventually(() => missed(noticed).length === 0, { timeoutMs: LONG_MS }).catch(() => undefined)

      const p95 = p95Of(paints.map(({ paintMs }) => paintMs))
      const listP95 = p95Of(paints.map(({ listMs }) => listMs))
      // What is open at the moment differs from one sample to the next.
      const least = (samples: readonly { heapMiB: number }[]) =>
        Math.min(...samples.map(({ heapMiB }) => heapMiB))
      const growths = tabs.map(
        ({ samples }) => least(samples.slice(SAMPLES / 2)) - least(samples.slice(0, SAMPLES / 2)),
      )
      const shown = tabs.map(({ samples }) =>
        samples.map(({ heapMiB, nodes }) => `${heapMiB.toFixed(1)}/${nodes}`).join(' '),
      )
      console.error(
        `${posted} messages, ${browsers.map(({ noticed }) => noticed.texts.size).join(' and ')} notices, ${paints.length} first paints: p95 ${p95.toFixed(0)} ms, conversations ${listP95.toFixed(0)} ms; MiB/nodes of each tab:\n${shown.join('\n')}`,
      )
      expect(tabs.flatMap(({ lost }) => lost)).toEqual([])
      for (const { noticed } of browsers) {
        expect(missed(noticed)).toEqual([])
        expect([...noticed.texts].filter(([text, count]) => /^Message \d+$/.test(text) && count > 1)).toEqual(
          [],
        )
      }
      expect(Math.max(...growths)).toBeLessThan(MAX_GROWTH_MIB)
      expect(p95).toBeLessThan(MAX_PAINT_MS)
    })
  },
  DURATION_S * 1_000 + 600_000,
)

function p95Of(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[Math.ceil(figures.length * 0.95) - 1] ?? Number.NaN
}

function failed(): never {
  throw new Error('there is none')
}
