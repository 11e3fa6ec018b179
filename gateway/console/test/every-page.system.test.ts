import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { overflowOf, violations } from './axe.ts'
import { consoleSystem, PHONE } from './console-system.ts'
import {
  closeDialog,
  consolePages,
  dialogs,
  entrances,
  goInside,
  openDialog,
  readSeeded,
  register,
  signIn,
} from './pages.ts'
import { seed } from './seed.ts'

let seeded: Awaited<ReturnType<typeof readSeeded>>
const system = consoleSystem({
  async prepare({ parley, garden }) {
    await seed(parley.system, garden, { updates: 40 })
    const read = async (path: string) => (await parley.call('GET', path, { token: garden.token })).json
    seeded = await eventually(() => readSeeded(read).catch(() => undefined))
  },
})
const { onPage, open } = system

describe('a session', () => {
  test('goes on after a reload by a cookie that no script reads, and ends with the logout', async () => {
    await onPage({}, async (page, context) => {
      await signIn(page, system.url, system.garden)
      const [cookie] = await context.cookies(`${system.url}/api/auth/refresh`)
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api/auth' })
      const readable = await page.evaluate(() => ({
        cookie: document.cookie,
        names: Object.keys({ ...localStorage, ...sessionStorage }),
      }))
      const names = [expect.stringMatching(/^parley\.notices\.\d+$/), 'parley.signed-in']
      expect({ ...readable, names: readable.names.sort() }).toEqual({ cookie: '', names })
      await page.reload()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      expect(await context.cookies(`${system.url}/api/auth/refresh`)).toEqual([])
      await page.reload()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
    })
  })

  test('of an invited viewer shows no button that the role may not use, and asks nothing that is refused', async () => {
    const invitation = await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/team', 'tbody tr')
      await page.getByRole('button', { name: 'Invite somebody' }).click()
      await page.getByLabel('Email').fill('vera@example.com')
      await page.getByLabel('Role').selectOption({ label: 'Viewer' })
      await page.getByRole('button', { name: 'Invite', exact: true }).click()
      const mail = page.getByRole('link', { name: 'Write the mail' })
      expect(await mail.getAttribute('href')).toMatch(/^mailto:vera%40example\.com\?.*invitation%23/)
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
      // Of what is set up for the team, a viewer reads the teams that conversations are assigned to.
      for (const [path, wait] of consolePages(seeded).filter(
        ([path]) => !/^\/team(?!\/teams)/.test(path) && !/\/(?:new|edit|connect|connected)$/.test(path),
      )) {
        await goInside(page, path, wait)
        const buttons = await page.locator('main :is(button, a.button)').allTextContents()
        const known = [
          'Hour',
          'Day',
          'Week',
          'Show',
          'Copy',
          'Load more',
          'Messages',
          'All settings and history',
          ...VIEWS,
          ...OF_ONESELF,
        ]
        expect([path, buttons.filter((text) => !known.includes(text))]).toEqual([path, []])
      }
      await goInside(page, '/team/teams', '.empty')
      const others = page.getByRole('link', { name: /Users|Roles|API tokens|Audit log/ })
      expect(await others.count()).toBe(0)
      expect(refused).toEqual([])
    })
  })

  test('of a role that reads a part of the messages sees no count of all, and asks nothing that is refused', async () => {
    const { parley, garden } = system
    const role = {
      name: 'ORDERS',
      permissions: [
        { schema: "{{resource}} == 'messages'", read: "{{doc.channel}} == 'order-line'", write: '' },
      ],
    }
    expect((await parley.call('POST', '/rest/roles', { body: role, token: garden.token })).status).toBe(200)
    const person = { email: 'otto@example.com', password: garden.password }
    const user = { ...person, name: 'Otto', phone: '+5511999990001', role: 'ORDERS' }
    expect((await parley.call('POST', '/rest/users', { body: user, token: garden.token })).status).toBe(200)
    await onPage({}, async (page) => {
      const refused: string[] = []
      page.on('response', (response) => void (response.status() === 403 && refused.push(response.url())))
      await signIn(page, system.url, person)
      await page.getByText('so they are not counted').waitFor()
      await page.getByText('The provider refused it').first().waitFor()
      expect(await page.getByRole('button', { name: /Replay/ }).count()).toBe(0)
      await goInside(page, '/messages', 'tbody tr')
      const channels = await page.locator('tbody').textContent()
      expect(channels).not.toContain('support-line')
      expect(refused).toEqual([])
    })
  })

  test('of another workspace sees nothing of this one, on no page and in no response', async () => {
    const rival = await register(system.url, 'rival')
    const { json } = await system.parley.call('GET', '/rest/messages?limit=1', { token: system.garden.token })
    const [message] = json.data as { _id: string }[]
    await onPage({}, async (page) => {
      const bodies: string[] = []
      // The browser drops the body of a response when it leaves the page, so each is read on its way there.
      const isRead = ({ pathname }: URL) => pathname.startsWith('/rest/') && !pathname.endsWith('/events')
      await page.route(isRead, async (route) => {
        const response = await route.fetch()
        bodies.push(await response.text())
        await route.fulfill({ response })
      })
      await signIn(page, system.url, rival)
      await page.getByRole('heading', { name: 'First steps' }).waitFor()
      await goInside(page, '/messages', '.empty')
      await page.getByText('No messages yet').waitFor()
      await goInside(page, `/messages/${message?._id}`, '.failure')
      await goInside(page, '/channels', '.empty')
      await goInside(page, '/assistants', '.empty')
      await goInside(page, '/channels/1', '.failure')
      await goInside(page, '/conversations', '.empty')
      await page.getByText('No conversations yet').waitFor()
      await goInside(page, `/conversations/${seeded.thread}`, '.inbox-thread .failure')
      await goInside(page, '/events', '.empty')
      await goInside(page, '/events/1', '.failure')
      await page.unrouteAll({ behavior: 'wait' })
      expect(bodies.length).toBeGreaterThan(10)
      expect(bodies.join()).not.toMatch(/Marta|order-47|support-line|Warehouse/)
    })
  })
})

describe('the overview', () => {
  test('shows what came in and what became of it by the minute, in numbers that the API says', async () => {
    const { json } = await system.parley.call('GET', '/rest/messages/traffic', { token: system.garden.token })
    const { accepted, dead } = json as { accepted: number; dead: number }
    expect(accepted).toBeGreaterThan(40)
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      const tile = (name: string) => page.locator('.tile', { hasText: name }).locator('strong')
      expect(await tile('Accepted').first().textContent()).toBe(String(accepted))
      expect(await tile('Dead').textContent()).toBe(String(dead))
      expect(await tile('Accepted to sent').textContent()).toMatch(/^[\d.,]+ (ms|s|min)$/)
      expect(await tile('Difference').textContent()).toBe('0')
      await page.getByRole('img', { name: `Messages a minute: Accepted ${accepted}` }).waitFor()
      await page
        .getByRole('meter', { name: /^Rate that \d+ uses$/ })
        .first()
        .waitFor()
      await page.getByText('Nothing waits').waitFor()
      await page.getByRole('button', { name: 'Week' }).click()
      await page.getByRole('img', { name: `Messages an hour: Accepted ${accepted}` }).waitFor()
    })
  })

  test('is never wider than the screen, not even before its chart is drawn anew', async () => {
    await onPage({}, async (page) => {
      await page.addInitScript(() => {
        // Tells nobody of a size, as if the browser had not come to it yet.
        globalThis.ResizeObserver = class {
          observe() {}
          unobserve() {}
          disconnect() {}
        }
      })
      await signIn(page, system.url, system.garden)
      await page.waitForSelector('.chart canvas')
      await page.setViewportSize(PHONE)
      expect(await overflowOf(page)).toBe(0)
    })
  })

  test('says what waits for what', async () => {
    const shop = await register(system.url, 'waiting')
    const channel = {
      ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc' },
      ...{ handlerUrl: 'native:agents/echo', config: { callbackUrl: 'http://127.0.0.1:1/' } },
    }
    const { token } = shop
    expect((await system.parley.call('PUT', '/rest/channels/1', { body: channel, token })).status).toBe(200)
    const body = { extId: 'line', user: {}, thread: { extId: 'stuck' }, answer: { message: 'Hello' } }
    await system.parley.call('POST', '/rest/messages', { body, token })
    await onPage({}, async (page) => {
      await signIn(page, system.url, shop)
      const waits = page.locator('.card', { hasText: 'What waits' })
      await waits.getByText(/for their next try|for an endpoint/).waitFor()
      await waits.getByRole('link', { name: 'stuck' }).click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    })
  })
})

describe('with the keyboard', () => {
  test('/ searches, j and k move, Enter opens, g leads to pages, and ? says so', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
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
      // A text that is typed by halves may have shown no rows in between.
      await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll('tbody tr')]
        return rows.length > 0 && rows.every((row) => row.textContent.includes('order-4703'))
      })
      for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
      expect(await page.locator('tbody tr').first().getAttribute('aria-current')).toBe('true')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    })
  })

  test('j makes no row current where there are none, whatever comes then', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/messages?thread=of-nobody', '[data-search]')
      await page.getByText('No messages match').waitFor()
      await page.locator('h1').click()
      await page.keyboard.press('j')
      await page.keyboard.press('/')
      await page.keyboard.press('Control+A')
      await page.keyboard.type('order-4703')
      await page.waitForSelector('tbody tr')
      expect(await page.locator('[aria-current=true]').count()).toBe(0)
    })
  })

  test('Enter follows the link and presses the button that has the focus, on a page with rows too', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/messages?state=dead', 'tbody tr')
      await page.keyboard.press('j')
      await page.getByRole('button', { name: 'Replay these…' }).press('Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Channels', exact: true }).press('Enter')
      await page.getByRole('heading', { name: 'Channels' }).waitFor()
    })
  })
})

test('axe finds nothing on any page, at 360 and 1,440 px, light and dark, and no page is wider than the screen', async () => {
  await onPage({ bypassCSP: true }, async (page) => {
    const found: string[] = []
    for (const [path, wait] of Object.entries(entrances)) {
      await open(page, `${path}#token`, wait)
      found.push(...(await violations(page, path)))
    }
    await signIn(page, system.url, system.garden)
    for (const [path, wait] of consolePages(seeded)) {
      await goInside(page, path, wait)
      found.push(...(await violations(page, path)))
    }
    await page.keyboard.press('?')
    found.push(...(await violations(page, 'keys')))
    await closeDialog(page)
    for (const dialog of dialogs(seeded)) {
      await openDialog(page, dialog)
      found.push(...(await violations(page, `${dialog[0]} ${dialog[2]}`)))
      await closeDialog(page)
    }
    expect(found).toEqual([])
  })
})

test('axe finds nothing in a workspace without messages', async () => {
  const empty = await register(system.url, 'empty')
  await onPage({ bypassCSP: true }, async (page) => {
    await signIn(page, system.url, empty)
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    const found = await violations(page, 'first steps')
    for (const path of ['/conversations', '/messages', '/assistants', '/people', '/campaigns', '/channels']) {
      await goInside(page, path, '.empty')
      found.push(...(await violations(page, path)))
    }
    expect(found).toEqual([])
  })
})

/** Buttons that only choose what is shown. */
const VIEWS = [
  'All',
  'Unread',
  'With the team',
  'Mine',
  'all',
  'pending',
  'delivered',
  'failed',
  'Look',
  'Load older',
  'Count',
  'Export',
  'Fields',
  'JSON',
  'Person',
  'Show the image',
  'Get the document',
]

/** Buttons that everybody may use for their own account. */
const OF_ONESELF = ['Save', 'Change the password', 'End', 'End all others']
