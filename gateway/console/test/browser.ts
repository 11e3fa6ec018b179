import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { installPackages } from '@parley/local/servers/apt'
import { findBinary } from '@parley/local/servers/find-binary'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

const find = () => findBinary('chromium') ?? findBinary('chromium-browser') ?? findBinary('google-chrome')

/** Chromium has no sandbox for root, and containers have little shared memory. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

/** Flags by which Playwright switches off what people's browsers do with pages that are left or not seen. */
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
  return chromium.launch({
    executablePath: await findOrInstall(),
    args: ARGUMENTS,
    ...(hasPageCache && { ignoreDefaultArgs: ABOUT_PAGES_LEFT }),
  })
}

async function findOrInstall(): Promise<string> {
  if (find() === undefined) {
    const say = (line: string) => console.error(line)
    const { signal } = new AbortController()
    await installPackages(['chromium'], { directory: tmpdir(), ports: {}, say, signal })
  }
  const executablePath = find()
  if (executablePath === undefined) throw new Error('there is no Chromium on this machine')
  return executablePath
}

/** A browser as a user has it: only the front tab is visible, and timers of the others are slowed down. */
interface OwnBrowser {
  context: BrowserContext
  close(): Promise<void>
}

/** A browser with its own defaults, of which Playwright changes none. */
export async function startOwnBrowser({
  width,
  height,
}: {
  width: number
  height: number
}): Promise<OwnBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'parley-browser-'))
  const own = [`--user-data-dir=${profile}`, '--remote-debugging-port=0', `--window-size=${width},${height}`]
  const started = spawn(await findOrInstall(), [...ARGUMENTS, ...own, '--headless=new', '--no-first-run'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise((resolve) => started.once('close', resolve))
  const lines = createInterface({ input: started.stderr })
  const address = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const found = /^DevTools listening on (ws:.*)$/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    lines.once('close', () => reject(new Error('Chromium ended')))
  })
  const browser = await chromium.connectOverCDP(address, { noDefaults: true })
  const [context] = browser.contexts()
  if (context === undefined) throw new Error('Chromium has no window')
  return {
    context,
    async close() {
      await browser.close()
      started.kill()
      await ended
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
