import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { startOwnBrowser } from './browser.ts'
import {
  add,
  atRate,
  countNotices,
  type FirstPaint,
  memoryOf,
  type Noticed,
  workIn,
  writingTab,
} from './busy-inbox.ts'
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
const MAX_GROWTH_MIB = 1.5
/** An open conversation grows by what is said in it, up to 150 of that. */
const MAX_MORE_NODES = 3_000
const SAMPLES = 6
const AT_ONCE = 16
const LONG_MS = 60_000

const system = consoleSystem()
const call = (method: string, path: string, options: { body?: object; token: string }) =>
  system.parley.call(method, path, options)

let accounts: Account[]
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
  accounts = [system.garden, { ...system.garden, ...bruno }]
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

type Agent = Awaited<ReturnType<typeof startAgent>>

/** An agent in a browser of their own, whose notices are counted, on the desktop and of everything. */
async function startAgent(account: Account) {
  const { context, close } = await startOwnBrowser(DESK)
  const noticed = await countNotices(context)
  const errors: string[] = []
  context.on('weberror', (error) => errors.push(error.error().message))
  const newTab = async () => {
    const page = await context.newPage()
    page.setDefaultTimeout(LONG_MS)
    return page
  }
  const first = await newTab()
  await signIn(first, system.url, account)
  await system.open(first, '/account', '.rows')
  await first.getByLabel('On the desktop').click()
  await first.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
  const tabs: ReturnType<typeof writingTab>[] = []
  return {
    ...{ context, close, noticed, errors, tabs },
    async openTab(own: readonly string[]): Promise<void> {
      const page = tabs.length === 0 ? first : await newTab()
      await system.open(page, `/conversations/${own[0]}`, '.reply textarea')
      tabs.push(writingTab(page, own))
    },
  }
}

test(
  `two agents with ${TABS} tabs lose no draft and hear of each message once, at ${RATE} messages a second`,
  async () => {
    const agents: Agent[] = []
    try {
      for (const account of accounts) agents.push(await startAgent(account))
      for (let at = 0; at < TABS; at++) {
        const own = threads.slice(CONVERSATIONS + at * 2).slice(0, 2)
        await agents[at % agents.length]?.openTab(own)
      }
      await expectAllWell(agents)
    } finally {
      for (const { close } of agents) await close()
    }
  },
  DURATION_S * 1_000 + 600_000,
)

async function expectAllWell(agents: readonly Agent[]): Promise<void> {
  const ending = new AbortController()
  const { signal } = ending
  /** To conversations that nobody looks at, and to those that an agent has open now and then. */
  const [said, saidToOwn] = [new Map<string, number>(), new Map<string, number>()]
  const posts = atRate(
    async (at) => {
      const text = `Message ${at}`
      // Every tenth goes to a conversation that somebody writes in.
      const isOwn = at % 10 === 9
      const thread = isOwn ? CONVERSATIONS + (Math.floor(at / 10) % OWN) : at % CONVERSATIONS
      add(isOwn ? saidToOwn : said, nameOf(thread), 1)
      await say(thread, text)
    },
    { rate: RATE, signal },
  )
  const tabs = agents.flatMap((agent) => agent.tabs)
  const url = `${system.url}/console/conversations`
  const working = Promise.all(agents.map(({ context, tabs }) => workIn(tabs, { context, url, signal })))
  const sampling = sampleMemory(tabs).finally(() => ending.abort())
  const [posted, painted, samples] = await Promise.all([posts, working, sampling])
  for (const tab of tabs) await tab.finish()
  const reported = (of: typeof said, { from }: Noticed, is: (found: number, count: number) => boolean) =>
    [...of]
      .filter(([name, count]) => is(from.get(name) ?? 0, count))
      .map(([name, count]) => `${name}: ${from.get(name) ?? 0} of ${count}`)
  const missed = (noticed: Noticed) => reported(said, noticed, (found, count) => found < count)
  const doubled = (noticed: Noticed) =>
    [said, saidToOwn].flatMap((of) => reported(of, noticed, (found, count) => found > count))
  for (const { noticed } of agents)
    await eventually(() => missed(noticed).length === 0, { timeoutMs: LONG_MS }).catch(() => undefined)

  const paints = painted.flat()
  // The number of open elements differs from one sample to the next.
  const growths = (part: 'heapMiB' | 'nodes') =>
    samples.map((of) => {
      const least = (half: typeof of) => Math.min(...half.map((sample) => sample[part]))
      return least(of.slice(SAMPLES / 2)) - least(of.slice(0, SAMPLES / 2))
    })
  const noticedBy = (of: (noticed: Noticed) => number) =>
    agents.map(({ noticed }) => of(noticed)).join(' and ')
  console.error(
    [
      `${posted} messages; to the agents ${noticedBy(({ texts }) => texts.size)} notices, missed ${noticedBy((noticed) => missed(noticed).length)}, doubled ${noticedBy((noticed) => doubled(noticed).length)}`,
      `${paints.length} first paints, median and p95 in ms until: ${inWords(paints)}`,
      'MiB/nodes of each tab:',
      ...samples.map((of) => of.map(({ heapMiB, nodes }) => `${heapMiB.toFixed(1)}/${nodes}`).join(' ')),
    ].join('\n'),
  )
  expect(agents.flatMap(({ errors }) => errors)).toEqual([])
  expect(tabs.flatMap(({ lost }) => lost)).toEqual([])
  for (const { noticed } of agents) {
    expect(missed(noticed)).toEqual([])
    expect(doubled(noticed)).toEqual([])
  }
  expect(Math.max(...growths('heapMiB'))).toBeLessThan(MAX_GROWTH_MIB)
  expect(Math.max(...growths('nodes'))).toBeLessThan(MAX_MORE_NODES)
  expect(
    quantile(
      paints.map(({ paint }) => paint),
      0.95,
    ),
  ).toBeLessThan(MAX_PAINT_MS)
}

/** Samples the memory of each tab at even intervals until the last. */
async function sampleMemory(tabs: Agent['tabs']): Promise<Awaited<ReturnType<typeof memoryOf>>[][]> {
  const sessions = await Promise.all(tabs.map(({ page }) => page.context().newCDPSession(page)))
  const samples = tabs.map((): Awaited<ReturnType<typeof memoryOf>>[] => [])
  const startedAt = performance.now()
  for (let sample = 1; sample <= SAMPLES; sample++) {
    await pause(Math.max(0, startedAt + (sample * DURATION_S * 1_000) / SAMPLES - performance.now()))
    for (const [at, session] of sessions.entries()) {
      const page = tabs[at]?.page
      if (page !== undefined) samples[at]?.push(await memoryOf(page, session))
    }
  }
  return samples
}

function inWords(paints: readonly FirstPaint[]): string {
  const [one] = paints
  if (one === undefined) return 'none'
  return (Object.keys(one) as (keyof FirstPaint)[])
    .map((part) => {
      const all = paints.map((paint) => paint[part])
      return `${part} ${[0.5, 0.95].map((of) => quantile(all, of).toFixed(0)).join(' ')}`
    })
    .join(', ')
}

function quantile(figures: readonly number[], of: number): number {
  return figures.toSorted((one, other) => one - other)[Math.ceil(figures.length * of) - 1] ?? Number.NaN
}
