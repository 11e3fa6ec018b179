// Pictures of the console's pages for the documentation: npm run screenshots
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import type { Page } from 'playwright-core'
import { startOwnSystem } from '../../../tests/lab/system/own-system.ts'
import { buildConsole } from '../build.ts'
import { startBrowser } from './browser.ts'
import { register, signIn } from './pages.ts'
import { seed } from './seed.ts'

interface Picture {
  name: string
  path: string
  wait: string
  /** Acts on the page before the screenshot is taken. */
  act?: (page: Page) => Promise<void>
}

const PICTURES: Picture[] = [
  { name: 'overview', path: '/', wait: '.chart canvas' },
  { name: 'conversations', path: '/conversations', wait: '.threads a', act: takeOverMarta },
  { name: 'messages', path: '/messages', wait: 'tbody tr' },
  { name: 'message', path: '/messages?channel=support-line', wait: 'tbody tr', act: openMessageWithTurns },
  { name: 'assistant', path: '/assistants/1', wait: 'form.say', act: tryAssistant },
  { name: 'workflow', path: '/assistants/workflows/1', wait: '.graph' },
  { name: 'channels', path: '/channels', wait: 'tbody .badge' },
  { name: 'channel', path: '/channels/1', wait: 'form' },
  { name: 'events', path: '/events/1', wait: 'tbody tr' },
  { name: 'person', path: '/people/phone:5511988887702', wait: '.facts' },
  { name: 'template', path: '/templates/new', wait: 'form', act: writeTemplate },
  { name: 'campaign', path: '/campaigns', wait: 'tbody tr', act: openCampaign('Spring offers') },
  { name: 'campaign-draft', path: '/campaigns', wait: 'tbody tr', act: openCampaign('Black Friday') },
  { name: 'team', path: '/team', wait: 'tbody tr' },
  { name: 'account', path: '/account', wait: '.rows' },
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
  all ||
  /^(overview|conversations|message|assistant|workflow|events|person|template|campaign|campaign-draft)$|^overview-dark$/.test(
    name,
  )

await mkdir(directory, { recursive: true })
await buildConsole()
const own = await startOwnSystem({ instances: {}, say: (line) => console.error(line) })
try {
  const { gatewayUrl } = own.system
  const account = await register(gatewayUrl, 'verde')
  await seed(own.system, account, { updates: 300 })
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

async function take(page: Page, picture: Picture, path: string): Promise<void> {
  await page.goto(new URL(`/console${picture.path}`, page.url()).href)
  await page.waitForSelector(picture.wait)
  await picture.act?.(page)
  await page.waitForFunction(() => document.querySelector('.loading') === null)
  await page.screenshot({ path, fullPage: all })
  console.error(path)
}

async function takeOverMarta(page: Page): Promise<void> {
  await page.locator('.threads a', { hasText: 'Marta' }).click()
  const takeOver = page.getByRole('button', { name: 'Take over' })
  const reply = page.getByRole('textbox', { name: 'Your reply' })
  await takeOver.or(reply).first().waitFor()
  if (await takeOver.isVisible()) await takeOver.click()
  await reply.fill('Hello Marta, this is Ana. I have your order in front of me.')
}

async function openMessageWithTurns(page: Page): Promise<void> {
  await page.locator('tbody a').first().click()
  await page.waitForSelector('.timeline')
}

async function writeTemplate(page: Page): Promise<void> {
  for (const [label, text] of [
    ['Name', 'spring_offer'],
    ['Language', 'en_GB'],
    ['Text', 'Hi {{1}}, it is spring: *{{2}} off* all plants until Sunday.'],
    ['Footer', 'Write stop for no more'],
    ['Example: {{1}}', 'Ana'],
  ] as const)
    await page.getByLabel(label, { exact: label !== 'Footer' }).fill(text)
}

function openCampaign(name: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.getByRole('link', { name }).click()
    await page.waitForSelector('.facts')
    await page.waitForSelector('.bubble')
  }
}

async function tryAssistant(page: Page): Promise<void> {
  const says = page.getByRole('textbox', { name: 'A message to Flora' })
  for (const text of ['Hello! What can you do?', 'readOrder {"id": "4711"}']) {
    await says.fill(text)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.typing', { state: 'detached' })
  }
  await page.locator('.trial').getByText('readOrder').last().waitFor()
}
