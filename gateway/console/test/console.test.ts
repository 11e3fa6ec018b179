import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { type RunningParley, startProcesses } from '../../../tests/e2e/running-parley.ts'
import { buildConsole } from '../build.ts'
import { startBrowser } from './browser.ts'
import { type Account, register, signIn } from './pages.ts'
import { seed } from './seed.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PHONE = { width: 360, height: 740 }
const DESK = { width: 1440, height: 900 }
const BUNDLE_BYTES = 150 * 1024

let parley: RunningParley
let browser: Browser
let garden: Account
let url: string

beforeAll(async () => {
  await buildConsole()
  browser = await startBrowser()
  parley = await startProcesses()
  url = parley.system.gatewayUrl
  garden = await register(url, 'garden')
  await seed({ gatewayUrl: url, simulatorUrl: parley.system.simulatorUrl, token: garden.token })
}, 300_000)
afterAll(async () => {
  await browser?.close()
  await parley?.stop()
}, 60_000)

/** Runs with a page of its own; fails on errors in it and on requests that leave the gateway. */
async function onPage<T>(
  options: BrowserContextOptions,
  run: (page: Page, context: BrowserContext) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext({ viewport: DESK, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('console', (line) => /Content Security Policy/i.test(line.text()) && wrong.push(line.text()))
  page.on('request', (request) => {
    const at = new URL(request.url())
    if (at.origin !== url && at.protocol !== 'blob:') wrong.push(`a request to ${at.origin}`)
  })
  try {
    const result = await run(page, context)
    expect(wrong).toEqual([])
    return result
  } finally {
    await context.close()
  }
}

const open = async (page: Page, path: string, wait: string) => {
  await page.goto(`${url}/console${path}`)
  await page.waitForSelector(wait)
}

describe('the console', () => {
  test('is where a browser that asks for / ends up, and programs get no page there', async () => {
    await onPage({}, async (page) => {
      await page.goto(url)
      expect(page.url()).toBe(`${url}/console`)
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
    })
    expect((await fetch(url, { headers: { accept: 'application/json' } })).status).toBe(404)
  })

  test('has less than 150 KB compressed, and nothing in it is inline', async () => {
    const html = await (await fetch(`${url}/console`)).text()
    expect(html).not.toMatch(/<script>|<style| style=| on\w+=/)
    const files = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(files.length).toBe(3)
    const headers = { 'accept-encoding': 'gzip' }
    const responses = await Promise.all(files.map((path) => fetch(url + path, { headers })))
    const bytes = responses.map((response) => Number(response.headers.get('content-length')))
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(BUNDLE_BYTES)
  })
})

describe.each([
  ['360 px', PHONE],
  ['1,440 px', DESK],
])('at %s', (name, viewport) => {
  test('somebody registers, connects a channel, sees its message die, mends the channel, and replays the message', async () => {
    await onPage({ viewport }, async (page) => {
      await page.goto(`${url}/console`)
      await page.getByRole('button', { name: 'Create a workspace' }).click()
      await page.getByLabel('Your name').fill('Rui Costa')
      await page.getByLabel('Email').fill(`rui@${viewport.width}.example.com`)
      await page.getByLabel('Phone').fill('+351900000000')
      await page.getByLabel('Workspace').fill(`shop ${viewport.width}`)
      await page.getByLabel('Password').fill('correct horse battery staple')
      await page.getByRole('button', { name: 'Create a workspace' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()

      await page.getByRole('link', { name: 'Connect a channel' }).click()
      await page.getByLabel('Name').fill('Shop line')
      await page.getByLabel('External id').fill('shop-line')
      await page.getByLabel('Phone number id').fill(`2${viewport.width}`)
      await page.getByLabel('Access token').fill('expired')
      await page.getByLabel('API address').fill(`${parley.system.simulatorUrl}/v23.0`)
      await page.getByRole('button', { name: 'Create the channel' }).click()
      await page.getByText('waiting for Meta').waitFor()
      await page.getByLabel('Phone').fill('+5511988887777')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('status').getByText('dead').waitFor()

      await page.getByRole('link', { name: 'Go to the channel' }).click()
      await page.getByRole('button', { name: 'Replace the access token' }).click()
      await page.getByLabel('New access token').fill('a token that works')
      await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
      await page.getByText('Access token is replaced.').waitFor()
      await page.getByRole('link', { name: 'Messages', exact: true }).last().click()
      await page.locator('tbody a').first().click()
      await page.getByText('the channel’s settings').waitFor()
      // The dispatcher hears of the channel's change a moment later, so one more try may be needed.
      await eventually(
        async () => {
          const replay = page.getByRole('button', { name: 'Replay' })
          if (await replay.isVisible()) await replay.click().catch(() => undefined)
          return (await page.locator('.facts .badge', { hasText: /^(sent|delivered|read)$/ }).count()) > 0
            ? true
            : undefined
        },
        { timeoutMs: 60_000 },
      )
      expect(name).toContain('px')
    })
    const sends = await parley.sends(`2${viewport.width}`)
    expect(sends.map(({ text }) => text)).toEqual(['Hello from Parley'])
  }, 120_000)

  test.each(['light', 'dark'] as const)(
    'axe finds nothing on any page, %s',
    async (colorScheme) => {
      await onPage({ viewport, colorScheme, bypassCSP: true }, async (page) => {
        await page.goto(`${url}/console`)
        await page.getByRole('heading', { name: 'Log in' }).waitFor()
        const found: string[] = [...(await violations(page, '/login'))]
        await signIn(page, url, garden)
        for (const [path, wait] of PAGES) {
          await open(page, path, wait)
          await page.waitForFunction(() => document.querySelector('.loading') === null)
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          if (overflow > 0) found.push(`${path}: ${overflow} px wider than the screen`)
          found.push(...(await violations(page, path)))
        }
        expect(found).toEqual([])
      })
    },
    180_000,
  )
})

const PAGES: [path: string, wait: string][] = [
  ['', '.chart canvas'],
  ['/messages', 'tbody tr'],
  ['/messages?state=dead', 'tbody tr'],
  ['/assistants', 'tbody tr'],
  ['/assistants/assistant/1', 'form'],
  ['/assistants/assistant/new', 'form'],
  ['/assistants/actions/1', '.rows'],
  ['/assistants/configs/1', 'form'],
  ['/assistants/workflows/1', '.graph'],
  ['/assistants/tasks', 'tbody tr'],
  ['/channels', 'tbody .badge'],
  ['/channels/1', 'form'],
  ['/channels/new', 'form'],
  ['/people', 'tbody tr'],
  ['/people/roles', 'tbody tr'],
  ['/people/tokens', '.empty'],
  ['/people/audit', '.empty, tbody tr'],
  ['/nothing-there', '.empty'],
]

/** What axe finds against WCAG 2.2 AA. */
async function violations(page: Page, path: string): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async (path) => {
    type Axe = { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    const { axe } = globalThis as unknown as { axe: Axe }
    const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const { violations } = await axe.run({ runOnly: { type: 'tag', values } })
    return violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes[0]?.html}`)
  }, path)
}

describe('a session', () => {
  test('goes on after a reload by a cookie that no script reads, and ends with the logout', async () => {
    await onPage({}, async (page, context) => {
      await signIn(page, url, garden)
      const [cookie] = await context.cookies(`${url}/api/auth/refresh`)
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api/auth' })
      const readable = await page.evaluate(
        () => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }),
      )
      expect(readable).toBe('{"parley.signed-in":"1"}')
      await page.reload()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      expect(await context.cookies(`${url}/api/auth/refresh`)).toEqual([])
      await page.reload()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
    })
  })

  test('of an invited viewer shows no button that the role may not use, and asks nothing that is refused', async () => {
    const invitation = await onPage({}, async (page) => {
      await signIn(page, url, garden)
      await open(page, '/people', 'tbody tr')
      await page.getByRole('button', { name: 'Invite somebody' }).click()
      await page.getByLabel('Email').fill('vera@example.com')
      await page.getByLabel('Role').selectOption({ label: 'VIEWER' })
      await page.getByRole('button', { name: 'Invite', exact: true }).click()
      return (await page.locator('dialog code').textContent()) ?? ''
    })
    await onPage({}, async (page) => {
      const refused: string[] = []
      page.on('response', (response) => void (response.status() === 403 && refused.push(response.url())))
      await page.goto(invitation)
      await page.getByLabel('Your name').fill('Vera')
      await page.getByLabel('Password').fill('correct horse battery staple')
      await page.getByRole('button', { name: 'Accept the invitation' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.getByText('Needs attention').waitFor()
      expect(await page.getByRole('link', { name: 'People' }).count()).toBe(0)
      for (const [path, wait] of PAGES.filter(
        ([path]) => !path.startsWith('/people') && !path.endsWith('/new'),
      )) {
        await open(page, path, wait)
        await page.waitForFunction(() => document.querySelector('.loading') === null)
        const buttons = await page.locator('main :is(button, a.button)').allTextContents()
        const known = ['Day', 'Week', 'Show', 'Copy', 'Load more', 'Messages']
        expect([path, buttons.filter((text) => !known.includes(text))]).toEqual([path, []])
      }
      expect(refused).toEqual([])
    })
  }, 120_000)

  test('of another workspace sees nothing of this one', async () => {
    const rival = await register(url, 'rival')
    await onPage({}, async (page) => {
      await signIn(page, url, rival)
      await open(page, '/messages', '.empty')
      await page.getByText('No messages yet').waitFor()
      await open(page, '/channels', '.empty')
      await open(page, '/assistants', '.empty')
      await open(page, '/channels/1', '.failure')
    })
  })
})

describe('with the keyboard', () => {
  test('/ searches, j and k move, Enter opens, g leads to pages, and ? says so', async () => {
    await onPage({}, async (page) => {
      await signIn(page, url, garden)
      await page.keyboard.press('g')
      await page.keyboard.press('m')
      await page.waitForSelector('tbody tr')
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('/')
      await page.keyboard.type('order-4703')
      await page.waitForURL(/thread=order-4703/)
      await page.keyboard.press('Tab')
      await page.locator('h1').click()
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length < 10)
      for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
      expect(await page.locator('tbody tr').first().getAttribute('aria-current')).toBe('true')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    })
  })
})

describe('with the gateway killed', () => {
  test('a banner says so, and the page goes on by itself when it is back', async () => {
    await onPage({}, async (page) => {
      await signIn(page, url, garden)
      await open(page, '/messages?thread=after-the-kill', '.empty')
      await page.evaluate(() => Object.assign(globalThis, { loadedBefore: true }))
      const banner = page.getByText('The gateway can’t be reached')
      // It is started again at once, so it is killed until the page has asked meanwhile.
      await eventually(
        async () => {
          killGateway()
          return (await banner.count()) > 0 ? true : undefined
        },
        { timeoutMs: 30_000 },
      )
      await parley.ready()
      await banner.waitFor({ state: 'detached' })
      const body = {
        ...{ extId: 'support-line', user: { phone: '+5511988887777' }, thread: { extId: 'after-the-kill' } },
        answer: { message: 'Back again' },
      }
      await eventually(async () => {
        const { status } = await parley.call('POST', '/rest/messages', { body, token: garden.token })
        return status === 200 ? true : undefined
      })
      await page.locator('tbody tr').first().waitFor()
      expect(await page.evaluate(() => 'loadedBefore' in globalThis)).toBe(true)
    })
  }, 120_000)

  function killGateway(): void {
    const { processes } = JSON.parse(readFileSync(parley.runFile, 'utf8')) as {
      processes: Record<string, { pid?: number }>
    }
    const pid = processes.gateway?.pid
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, and the next one is not there yet.
    }
  }
})
