import { afterAll, beforeAll, expect } from '@jest/globals'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { type RunningParley, startProcesses } from '../../../tests/e2e/running-parley.ts'
import { buildConsole } from '../build.ts'
import { startBrowser } from './browser.ts'
import { type Account, register } from './pages.ts'

export const PHONE = { width: 360, height: 740 }
export const DESK = { width: 1440, height: 900 }
const PAGE_MS = 60_000

/**
 * The processes, a browser and a registered workspace for the tests of a file. `prepare` fills the workspace;
 * `hasPageCache` is the browser's back/forward cache.
 */
export function consoleSystem({
  prepare,
  hasPageCache = false,
}: {
  prepare?(started: Started): Promise<void>
  hasPageCache?: boolean
} = {}) {
  let browser: Browser
  let started: Started
  beforeAll(async () => {
    const [parley, opened] = await Promise.all([
      startProcesses(),
      startBrowser({ hasPageCache }),
      buildConsole(),
    ])
    browser = opened
    const { gatewayUrl: url } = parley.system
    started = { parley, url, garden: await register(url, 'garden') }
    await prepare?.(started)
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    await started?.parley.stop()
  }, 60_000)

  /** Runs with a page of its own; fails on errors in it and on requests that leave the gateway, but for `elsewhere`. */
  async function onPage<T>(
    { elsewhere, ...options }: BrowserContextOptions & { elsewhere?: string },
    run: (page: Page, context: BrowserContext) => Promise<T>,
  ): Promise<T> {
    const context = await browser.newContext({ viewport: DESK, locale: 'en-US', ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(PAGE_MS)
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (line) => /Content Security Policy/i.test(line.text()) && wrong.push(line.text()))
    page.on('request', (request) => {
      const at = new URL(request.url())
      if (![started.url, elsewhere].includes(at.origin) && at.protocol !== 'blob:')
        wrong.push(`a request to ${at.origin}`)
    })
    try {
      const result = await run(page, context)
      expect(wrong).toEqual([])
      return result
    } finally {
      await context.close()
    }
  }

  return {
    onPage,
    /** Loads a page of the console, and waits for what it shows. */
    async open(page: Page, path: string, wait: string): Promise<void> {
      await page.goto(`${started.url}/console${path}`)
      await page.locator(wait).first().waitFor()
    },
    /** Once the tests run, as is the rest. */
    get parley() {
      return started.parley
    },
    get url() {
      return started.url
    },
    get garden() {
      return started.garden
    },
  }
}

/** The programs that {@link consoleSystem} has started. */
interface Started {
  parley: RunningParley
  url: string
  garden: Account
}
