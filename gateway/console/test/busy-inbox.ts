import { setTimeout as pause } from 'node:timers/promises'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { goInside } from './pages.ts'

const WORDS = ['order', 'fern', 'pot', 'tomorrow', 'address', 'thanks', 'which', 'green']
/** Between two visits of a tab, so long somebody reads. */
const READING_MS = 1_000
/** After so many visits of tabs the inbox is opened in another. */
const VISITS = 2

/** Calls `post` so often a second with numbers from 0, each at its time, until `signal`; resolves with how many. */
export async function atRate(
  post: (at: number) => Promise<void>,
  { rate, signal }: { rate: number; signal: AbortSignal },
): Promise<number> {
  const startedAt = performance.now()
  const underway = new Set<Promise<void>>()
  let at = 0
  for (; !signal.aborted; at++) {
    const early = startedAt + (at * 1_000) / rate - performance.now()
    if (early > 0) await pause(early)
    const one = post(at).finally(() => underway.delete(one))
    underway.add(one)
  }
  await Promise.all(underway)
  return at
}

/** A tab in which somebody writes in two conversations by turns; what is typed in each is checked whenever it is come back to. */
export function writingTab(page: Page, threads: readonly string[]) {
  const typed = new Map(threads.map((thread) => [thread, '']))
  const lost: string[] = []
  const box = page.getByRole('textbox', { name: 'Your reply' })
  const look = async (thread: string) => {
    await goInside(page, `/conversations/${thread}`, '.reply textarea')
    const found = await box.inputValue()
    const expected = typed.get(thread) ?? ''
    if (found !== expected) lost.push(`${thread} has “${found}”, not “${expected}”`)
    typed.set(thread, found)
  }
  let visits = 0
  return {
    page,
    lost,
    /** Comes to the tab, and writes another word. */
    async visit(): Promise<void> {
      await page.bringToFront()
      const visit = visits++
      const thread = threads[visit % threads.length] ?? ''
      await look(thread)
      const word = `${WORDS[visit % WORDS.length]} `
      await box.pressSequentially(word)
      typed.set(thread, `${typed.get(thread)}${word}`)
      await pause(READING_MS)
    },
    /** Looks into each conversation again, after a reload; then sends what is typed in one, and waits until it is said. */
    async finish(): Promise<void> {
      await page.bringToFront()
      await page.reload()
      await page.locator('.reply textarea').waitFor()
      for (const thread of threads.toReversed()) await look(thread)
      const text = (await box.inputValue()).trim()
      if (text === '') return
      await box.press('Enter')
      await page.locator('.said.team .bubble', { hasText: text }).first().waitFor()
    },
  }
}

/** Somebody goes from tab to tab and writes in each, and opens the inbox in another now and then, until `signal`. Returns how long that took each time. */
export async function workIn(
  tabs: readonly Pick<ReturnType<typeof writingTab>, 'visit'>[],
  { context, url, signal }: { context: BrowserContext; url: string; signal: AbortSignal },
): Promise<FirstPaint[]> {
  const paints: FirstPaint[] = []
  for (let visit = 1; !signal.aborted; visit++) {
    await tabs[visit % tabs.length]?.visit()
    if (visit % VISITS === 0) paints.push(await firstPaint(context, url))
  }
  return paints
}

/** Hears of the notices of a browser in place of showing them: whom each is from, and its text. */
export async function hearNotices(
  context: BrowserContext,
  heard: (title: string, text: string) => void,
): Promise<void> {
  await context.exposeFunction('report', heard)
  await context.addInitScript(() => {
    const { report } = globalThis as unknown as { report(title: string, text: string): void }
    globalThis.Notification = class {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      onclick = () => undefined
      constructor(title: string, { body }: { body: string }) {
        report(title, body)
      }
      close() {}
    } as unknown as typeof Notification
  })
}

/** The notices that were told. */
export interface Noticed {
  /** How many messages, by whom they are from. */
  from: Map<string, number>
  /** How often, by the message that they show. */
  texts: Map<string, number>
}

/** Counts the messages that the notices of a browser tell of, also several in one. */
export async function countNotices(context: BrowserContext): Promise<Noticed> {
  const [from, texts] = [new Map<string, number>(), new Map<string, number>()]
  await hearNotices(context, (title, text) => {
    const { count = '1', last = text } =
      /^(?<count>\d+) new messages\. (?<last>.*)$/s.exec(text)?.groups ?? {}
    add(from, title, Number(count))
    add(texts, last, 1)
  })
  return { from, texts }
}

/** Adds to a number that a map has under a key. */
export function add(map: Map<string, number>, key: string, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count)
}

/** How long until a tab that is opened anew shows something, and until it shows conversations, in milliseconds. */
async function firstPaint(context: BrowserContext, url: string): Promise<FirstPaint> {
  const page = await context.newPage()
  try {
    await page.goto(url)
    await page.locator('.threads a').first().waitFor()
    return await page.evaluate(() => {
      const conversations = performance.now()
      const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
      const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      const last = (part: string) =>
        Math.max(0, ...resources.filter(({ name }) => name.includes(part)).map((one) => one.responseEnd))
      return {
        page: navigation?.responseEnd ?? Number.NaN,
        assets: last('/console/assets/'),
        paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? conversations,
        session: last('/api/auth/refresh'),
        account: last('/api/auth/me'),
        conversations,
      }
    })
  } finally {
    await page.close()
  }
}

/** When each was there, after the tab was opened, in milliseconds. */
export type FirstPaint = Record<'page' | 'assets' | 'paint' | 'session' | 'account' | 'conversations', number>

interface TabMemory {
  heapMiB: number
  nodes: number
}

/** Returns the memory of a tab after its garbage is collected. */
export async function memoryOf(page: Page, session: CDPSession): Promise<TabMemory> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const { nodes } = await session.send('Memory.getDOMCounters')
  if (page.isClosed()) throw new Error('the tab is closed')
  return { heapMiB: usedSize / 1024 / 1024, nodes }
}
