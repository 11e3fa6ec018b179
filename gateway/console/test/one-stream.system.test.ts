import { beforeEach, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { type Account, register, signIn } from './pages.ts'

// A page takes a second by itself, and several beside other tests; one that waits for another's connection takes 20 and more.
const READY_MS = 10_000
/** Much shorter than it is until a list asks by itself while it follows the stream. */
const LIVE_MS = 10_000
/** Longer than a tab may be hidden before it lets go of the stream. */
const LONG_MS = 65_000
const TABS = 10

let rival: Account
const system = consoleSystem({
  hasPageCache: true,
  async prepare({ parley, url, garden }) {
    rival = await register(url, 'rival')
    const put = async (path: string, body: object, token: string) =>
      expect((await parley.call('PUT', path, { body, token })).status).toBe(200)
    for (const { token } of [garden, rival]) await put('/rest/channels/1', CHANNEL, token)
    const { token } = garden
    await put('/rest/workflows/1', { name: 'Onboard', description: '', steps: [] }, token)
    await put('/rest/jobs/1', { role: 'Guide', goal: 'Onboard', description: '', defaultWorkflow: 1 }, token)
    await put('/rest/assistant/1', { name: 'Bia', description: '', backstory: 'Friendly.', job: 1 }, token)
  },
})
const CHANNEL = {
  ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc', config: {} },
  handlerUrl: 'native:agents/none',
}

let threads = 0
let thread: string
beforeEach(() => {
  thread = `thread-${++threads}`
})

/** Something happens in the thread of the test. */
async function post({ token }: Account = system.garden): Promise<void> {
  const body = { extId: 'line', user: { phone: '5511988880000' }, thread: { extId: thread }, answer: {} }
  const { status } = await system.parley.call('POST', '/rest/messages', { body, token })
  expect(status).toBe(200)
}

const rows = (page: Page) => page.locator('tbody tr')

/** Waits until a tab shows so many messages of the thread, in less time than it would take to ask again. */
const shows = (page: Page, messages: number) =>
  rows(page)
    .nth(messages - 1)
    .waitFor({ timeout: LIVE_MS })

/** Loads the log of the test's thread as from the address bar; it shows `messages`. */
async function load(page: Page, messages = 0, rest = ''): Promise<void> {
  const startedAt = performance.now()
  await system.open(page, `/messages?thread=${thread}${rest}`, messages === 0 ? '.empty' : 'tbody tr')
  expect(performance.now() - startedAt).toBeLessThan(READY_MS)
}

/** The event streams that a browser has open, each with the tab that reads it, how many there were at most and in all. */
function watchStreams(context: BrowserContext) {
  const open = new Map<Request, Page>()
  let most = 0
  let opened = 0
  const isStream = (request: Request) => new URL(request.url()).pathname.endsWith('/events')
  context.on('request', (request) => {
    if (!isStream(request)) return
    const reader = request.frame().page()
    opened++
    open.set(request, reader)
    reader.once('close', () => open.delete(request))
    most = Math.max(most, open.size)
  })
  const end = (request: Request) => void open.delete(request)
  context.on('requestfinished', end)
  context.on('requestfailed', end)
  return {
    opened: () => opened,
    /** Counts one that has just ended, until the browser reports that. */
    most: () => most,
    /** Waits for the tab that reads the one stream. */
    reader: () =>
      eventually(() => (open.size === 1 ? [...open.values()][0] : undefined), { timeoutMs: LIVE_MS }),
    none: () => eventually(() => open.size === 0, { timeoutMs: LIVE_MS }),
    /** Returns the id after which the open stream was asked to continue. */
    lastEventId: async () => (await [...open.keys()][0]?.allHeaders())?.['last-event-id'],
  }
}

/** Tabs of one browser, all of which follow the thread of the test. */
async function openTabs(context: BrowserContext, count: number): Promise<Page[]> {
  const tabs: Page[] = []
  while (tabs.length < count) {
    const tab = await context.newPage()
    await load(tab)
    tabs.push(tab)
  }
  return tabs
}

test('ten tabs are ready at once, follow one stream, and go on with it when the tab that reads it is closed', async () => {
  await onTabs(async ({ page, context, streams }) => {
    await load(page)
    const tabs = [page, ...(await openTabs(context, TABS - 1))]
    await streams.reader()
    await post()
    await Promise.all(tabs.map((tab) => shows(tab, 1)))

    const reader = await streams.reader()
    await Promise.all([reader.close(), post()])
    await post()
    const left = tabs.filter((tab) => tab !== reader)
    await Promise.all(left.map((tab) => shows(tab, 3)))
    expect(await streams.reader()).not.toBe(reader)
    expect(await streams.lastEventId()).toBeTruthy()
    expect(streams.most()).toBeLessThanOrEqual(2)
  })
})

test('twenty loads in one tab are ready at once, and going back shows what has happened meanwhile', async () => {
  await onTabs(async ({ page, streams }) => {
    await page.addInitScript(() => {
      addEventListener('pageshow', ({ persisted }) => Object.assign(globalThis, { persisted }))
    })
    /** Why the browser has loaded the page anew; nothing where it was in its cache. */
    const whyLoaded = () =>
      page.evaluate(() => {
        const [navigation] = performance.getEntriesByType('navigation')
        return (globalThis as { persisted?: boolean }).persisted ? undefined : JSON.stringify(navigation)
      })
    for (let at = 0; at < 20; at++) {
      await load(page, 0, `&load=${at}`)
      await streams.reader()
      if (at % 5 !== 4) continue
      for (const go of ['goBack', 'goForward'] as const) {
        const startedAt = performance.now()
        await page[go]({ waitUntil: 'commit' })
        await page.locator('.empty').waitFor()
        expect(performance.now() - startedAt).toBeLessThan(READY_MS)
      }
    }
    await post()
    await shows(page, 1)
    await page.goBack({ waitUntil: 'commit' })
    await shows(page, 1)
    expect(await whyLoaded()).toBeUndefined()
    await streams.reader()
    await post()
    await shows(page, 2)
    expect(streams.most()).toBeLessThanOrEqual(2)
  })
})

test('hidden for long, a tab leaves the stream to another, the last one closes it, and seen again it shows what it missed', async () => {
  await onTabs(async ({ context, streams }) => {
    const tabs: Page[] = []
    for (let at = 0; at < 2; at++) {
      const tab = await context.newPage()
      await tab.clock.install()
      await load(tab)
      tabs.push(tab)
    }
    // The tab that signed in has no part in it any more.
    const [signedIn] = context.pages()
    await signedIn?.close()
    const first = await streams.reader()
    const second = tabs.find((tab) => tab !== first) as Page
    await setHidden(first, true)
    await first.clock.fastForward(LONG_MS)
    expect(await streams.reader()).toBe(second)
    await setHidden(second, true)
    await second.clock.fastForward(LONG_MS)
    await streams.none()
    await post()
    await setHidden(first, false)
    await shows(first, 1)
    expect(await streams.reader()).toBe(first)
    await post()
    await shows(first, 2)
    await setHidden(second, false)
    await shows(second, 2)
    expect(streams.most()).toBeLessThanOrEqual(2)
  })
})

test('a tab that is frozen leaves the stream to another, and shows what it missed once it goes on', async () => {
  await onTabs(async ({ page, context, streams }) => {
    await load(page)
    const [other] = (await openTabs(context, 1)) as [Page]
    expect(await streams.reader()).toBe(page)
    const lifecycle = await context.newCDPSession(page)
    // Chromium says so only to a page that is hidden, which none is without a screen.
    const announce = (name: string) =>
      page.evaluate((type) => void document.dispatchEvent(new Event(type)), name)
    await announce('freeze')
    await lifecycle.send('Page.setWebLifecycleState', { state: 'frozen' })
    await eventually(async () => (await streams.reader()) === other)
    await post()
    await shows(other, 1)
    await lifecycle.send('Page.setWebLifecycleState', { state: 'active' })
    await announce('resume')
    await shows(page, 1)
    await post()
    await shows(page, 2)
    expect(streams.most()).toBeLessThanOrEqual(2)
  })
})

test('a log-out in one tab ends the stream that another reads', async () => {
  await onTabs(async ({ page, context, streams }) => {
    const [reading] = await openTabs(context, 1)
    await page.goto(`${system.url}/console`)
    expect(await streams.reader()).toBe(reading)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await reading?.getByRole('heading', { name: 'Log in' }).waitFor()
    await streams.none()
  })
})

test('of two accounts in one browser one has the stream, and the other is told nothing of it', async () => {
  await onTabs(async ({ page, context, streams }) => {
    await load(page)
    const other = await context.newPage()
    await other.addInitScript(rememberNotes)
    // Somebody else signs in, and this tab goes on with the token that it has.
    await context.clearCookies()
    await other.goto(`${system.url}/console`)
    await other.getByRole('heading', { name: 'Log in' }).waitFor()
    await signIn(other, system.url, rival)
    await load(other)
    await post()
    await shows(page, 1)
    await post(rival)
    await post(rival)
    await shows(other, 2)
    expect(await rows(other).count()).toBe(2)
    expect(await rows(page).count()).toBe(1)
    // A tab's messages to itself before it leads are its own.
    const notes = await other.evaluate(() => (globalThis as { notes?: object[] }).notes)
    expect(notes?.filter((note) => !('mark' in note))).toEqual([])
    expect(await streams.reader()).toBe(page)
    await page.close()
    expect(await streams.reader()).toBe(other)
    await post(rival)
    await shows(other, 3)
    expect(streams.most()).toBeLessThanOrEqual(2)
  })
})

test('in a browser without locks, as over plain HTTP, lists ask by themselves and no tab opens a stream', async () => {
  await onTabs(async ({ page, context, streams }) => {
    const tab = await context.newPage()
    await page.close()
    await streams.none()
    const before = streams.opened()
    await tab.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
    await load(tab)
    await post()
    await shows(tab, 1)
    await post()
    await shows(tab, 2)
    expect(streams.opened()).toBe(before)
    expect(await tab.locator('.banner').count()).toBe(0)
  })
})

test('tabs that are loaded at one time renew their session one after another', async () => {
  await onTabs(async ({ page, context }) => {
    let renewing = 0
    let most = 0
    await context.route('**/api/auth/refresh', async (route) => {
      most = Math.max(most, ++renewing)
      const response = await route.fetch()
      renewing--
      await route.fulfill({ response })
    })
    const tabs = [page, await context.newPage(), await context.newPage()]
    await Promise.all(tabs.map((tab) => system.open(tab, `/messages?thread=${thread}`, '.empty')))
    expect(most).toBe(1)
  })
})

test('assistants are tried one at a time, however many tabs do', async () => {
  await onTabs(async ({ page, context }) => {
    const tabs = [page, await context.newPage()]
    const tried: (() => Promise<void>)[] = []
    await context.route('**/rest/assistant/1/try', (route) => {
      tried.push(() => route.fulfill({ json: { state: 'done', turns: [] } }))
    })
    for (const tab of tabs) {
      await system.open(tab, '/assistants/assistant/1', 'form.say')
      await tab.getByLabel('A message to').fill('Hello')
      await tab.getByLabel('A message to').press('Enter')
      await tab.getByText('is at it').waitFor()
    }
    const next = () => eventually(() => tried.shift())
    const first = await next()
    expect(tried).toEqual([])
    await first()
    await (await next())()
    for (const tab of tabs) await tab.getByText('is at it').waitFor({ state: 'detached' })
  })
})

/** Runs in the page before its own scripts: what other tabs tell it is in `notes`. */
function rememberNotes(): void {
  const notes: unknown[] = []
  const Channel = BroadcastChannel
  globalThis.BroadcastChannel = class extends Channel {
    constructor(name: string) {
      super(name)
      this.addEventListener('message', ({ data }) => notes.push(data))
    }
  }
  Object.assign(globalThis, { notes })
}

async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** Runs with a tab in which somebody is signed in. */
const onTabs = (
  run: (tabs: {
    page: Page
    context: BrowserContext
    streams: ReturnType<typeof watchStreams>
  }) => Promise<void>,
) =>
  system.onPage({}, async (page, context) => {
    const streams = watchStreams(context)
    await signIn(page, system.url, system.garden)
    await run({ page, context, streams })
  })
