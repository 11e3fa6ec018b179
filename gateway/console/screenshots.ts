// Pictures of the console's pages for the documentation: npm run screenshots
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import type { Page } from 'playwright-core'
import { startOwnSystem } from '../../tests/dispatch/own-system.ts'
import { buildConsole } from './build.ts'
import { startBrowser } from './test/browser.ts'
import { register, signIn } from './test/pages.ts'
import { seed } from './test/seed.ts'

const PICTURES = [
  { name: 'overview', path: '/', wait: '.chart canvas' },
  { name: 'messages', path: '/messages', wait: 'tbody tr' },
  {
    name: 'message',
    path: '/messages?state=dead',
    wait: 'tbody tr',
    press: ['j', 'Enter'],
    after: '.timeline',
  },
  { name: 'assistant', path: '/assistants/assistant/1', wait: 'form' },
  { name: 'workflow', path: '/assistants/workflows/1', wait: '.graph' },
  { name: 'channels', path: '/channels', wait: 'tbody .badge' },
  { name: 'channel', path: '/channels/1', wait: 'form' },
  { name: 'people', path: '/people', wait: 'tbody tr' },
]
const SIZES = [
  { name: '', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: '-dark', viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  { name: '-phone', viewport: { width: 360, height: 740 }, colorScheme: 'light' },
] as const

/** Takes each page at each size into `directory`; all of them with `all`, else what the documentation shows. */
const directory = process.argv[2] ?? join(CHECKOUT, 'docs/images')
const all = process.argv.includes('--all')
const shown = (name: string) =>
  all || /^(overview|messages|message|workflow|channels|people|overview-dark|messages-phone)$/.test(name)

await mkdir(directory, { recursive: true })
await buildConsole()
const own = await startOwnSystem({ instances: {}, say: (line) => console.error(line) })
try {
  const { gatewayUrl, simulatorUrl } = own.system
  const account = await register(gatewayUrl, 'garden')
  await seed({ gatewayUrl, simulatorUrl, token: account.token })
  const browser = await startBrowser()
  for (const { name: suffix, ...look } of SIZES) {
    const context = await browser.newContext({ ...look, locale: 'en-GB', timezoneId: 'Europe/Lisbon' })
    const page = await context.newPage()
    await signIn(page, gatewayUrl, account)
    for (const picture of PICTURES)
      if (shown(picture.name + suffix))
        await take(page, picture, join(directory, `${picture.name}${suffix}.png`))
    await context.close()
  }
  await browser.close()
} finally {
  await own.stop()
}

async function take(page: Page, picture: (typeof PICTURES)[number], path: string): Promise<void> {
  await page.goto(new URL(`/console${picture.path}`, page.url()).href)
  await page.waitForSelector(picture.wait)
  for (const key of picture.press ?? []) await page.keyboard.press(key)
  if (picture.after) await page.waitForSelector(picture.after)
  await page.waitForFunction(() => document.querySelector('.loading') === null)
  await page.screenshot({ path, fullPage: all })
  console.error(path)
}
