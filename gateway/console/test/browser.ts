import { tmpdir } from 'node:os'
import { installPackages } from '@parley/local/servers/apt'
import { findBinary } from '@parley/local/servers/find-binary'
import { type Browser, chromium } from 'playwright-core'

const find = () => findBinary('chromium') ?? findBinary('chromium-browser') ?? findBinary('google-chrome')

/** What Playwright switches off of what people's browsers do with pages that are left or not seen. */
const ABOUT_PAGES_LEFT = [
  '--disable-back-forward-cache',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]

/**
 * The machine's Chromium; as root on Debian it is installed where it is missing. `hasPageCache`: it keeps the pages that
 * are left in its back/forward cache, as people's browsers do.
 */
export async function startBrowser({ hasPageCache = false } = {}): Promise<Browser> {
  if (find() === undefined) {
    const say = (line: string) => console.error(line)
    const { signal } = new AbortController()
    await installPackages(['chromium'], { directory: tmpdir(), ports: {}, say, signal })
  }
  const executablePath = find()
  if (executablePath === undefined) throw new Error('there is no Chromium on this machine')
  // Chromium has no sandbox for root, and containers have little shared memory.
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    ...(hasPageCache && { ignoreDefaultArgs: ABOUT_PAGES_LEFT }),
  })
}
