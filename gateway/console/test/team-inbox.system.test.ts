import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { goInside, register, signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })

/** The conversations of two people, both with the team. */
let carla: string
let marta: string

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const config = { phoneNumberId: '6001', accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` }
  const channel = {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo', config },
  }
  const refused = { ...channel, extId: 'refused', config: { ...config, accessToken: 'expired' } }
  expect((await call('PUT', '/rest/channels/1', channel)).status).toBe(200)
  expect((await call('PUT', '/rest/channels/2', refused)).status).toBe(200)
  carla = await conversationWith('Carla', { phone: '5511988880001', input: 'See https://example.com/a_b_c.' })
  marta = await conversationWith('Marta', { phone: '5511988880002', input: 'Hello' })
})

/** Somebody writes, and the team takes over. */
async function conversationWith(
  name: string,
  { phone, input, extId = 'line' }: { phone: string; input: string; extId?: string },
): Promise<string> {
  const body = { extId, user: { name, phone }, thread: { extId: name }, answer: {}, input }
  expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
  const thread = await eventually(async () => {
    const { json } = await call('GET', `/rest/threads?q=${name}`)
    return (json.data as { _id: string }[])[0]?._id
  })
  expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'person' })).status).toBe(200)
  return thread
}

const reply = (page: Page) => page.getByRole('textbox', { name: 'Your reply' })

describe('a reply that is not sent yet', () => {
  test('is there again after another conversation and a reload, and gone once it is sent', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${carla}`, '.reply')
      await reply(page).fill('Dear Carla')
      await goInside(page, `/conversations/${marta}`, '.reply')
      expect(await reply(page).inputValue()).toBe('')
      await page.locator('.threads a', { hasText: 'Draft: Dear Carla' }).click()
      await page.getByRole('heading', { name: 'Carla' }).waitFor()
      expect(await reply(page).inputValue()).toBe('Dear Carla')
      await page.reload()
      await reply(page).waitFor()
      expect(await reply(page).inputValue()).toBe('Dear Carla')
      await reply(page).press('Enter')
      await page.locator('.said.team', { hasText: 'Dear Carla' }).waitFor()
      await page.reload()
      await reply(page).waitFor()
      expect(await reply(page).inputValue()).toBe('')
    })
  })

  test('is the account’s own, and gone when that logs out', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${carla}`, '.reply')
      await reply(page).fill('For Carla alone')
      expect(await page.evaluate(() => JSON.stringify(localStorage))).toContain('For Carla alone')
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('For Carla alone')
    })
  })

  test('is one of 50, of which the oldest go', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      const { json } = await call('POST', '/api/auth/me', {})
      await page.evaluate((owner) => {
        for (let at = 1; at <= 60; at++)
          localStorage.setItem(
            `parley.draft.${owner}.old-${at}`,
            JSON.stringify({ at, value: { text: 'old' } }),
          )
      }, String(json._id))
      await open(page, `/conversations/${marta}`, '.reply')
      await reply(page).fill('The newest')
      const left = await page.evaluate(() =>
        Object.keys(localStorage).filter((key) => key.startsWith('parley.draft.')),
      )
      expect(left.length).toBe(50)
      expect(left.some((key) => key.endsWith('old-60'))).toBe(true)
      expect(left.some((key) => key.endsWith('old-1'))).toBe(false)
    })
  })
})

describe('what was typed into a form and not saved', () => {
  const question = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' })

  test('is not left by a link, a key or the browser’s back without a question', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await page.getByRole('link', { name: 'Channels', exact: true }).click()
      await page.getByRole('link', { name: 'Line' }).first().click()
      const name = page.getByLabel('Name', { exact: true })
      await name.fill('Half typed')
      const methods = [
        () => page.getByRole('link', { name: 'Messages', exact: true }).first().click(),
        () => page.goBack(),
        () => page.getByRole('button', { name: 'Log out' }).click(),
        async () => {
          await page.locator('h1').click()
          await page.keyboard.press('g')
          await page.keyboard.press('o')
        },
      ]
      for (const leave of methods) {
        await leave()
        await question(page).getByRole('button', { name: 'Stay' }).click()
        await question(page).waitFor({ state: 'detached' })
        expect(await name.inputValue()).toBe('Half typed')
        expect(page.url()).toContain('/channels/1')
      }
      await page.goBack()
      await question(page).getByRole('button', { name: 'Leave' }).click()
      await page.getByRole('heading', { name: 'Channels' }).waitFor()
      await page.goForward()
      await name.waitFor()
      expect(await name.inputValue()).toBe('Line')
    })
  })

  test('is not left by closing the tab without a question of the browser’s, but for what was saved', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/2', 'form')
      const asked: string[] = []
      page.on('dialog', (dialog) => {
        asked.push(dialog.type())
        void dialog.accept()
      })
      await page.getByLabel('Description').fill('Typed')
      await page.reload()
      await page.getByLabel('Description').fill('Saved')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()
      await page.reload()
      await page.waitForSelector('form')
      expect(asked).toEqual(['beforeunload'])
    })
  })

  test('is not left by closing a dialog without a question', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/team', 'tbody tr')
      await page.getByRole('button', { name: 'Invite somebody' }).click()
      await page.getByLabel('Email').fill('half@')
      await page.keyboard.press('Escape')
      await question(page).getByRole('button', { name: 'Stay' }).click()
      expect(await page.getByLabel('Email').inputValue()).toBe('half@')
      await page.getByRole('button', { name: 'Close' }).click()
      await question(page).getByRole('button', { name: 'Leave' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })
  })

  test('is there once somebody has logged in again after their session ended', async () => {
    await onPage({}, async (page, context) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      await page.getByLabel('Description').fill('Not saved yet')
      await context.clearCookies()
      await page.route('**/rest/**', (route) => route.fulfill({ status: 401, json: {} }))
      await page.getByRole('button', { name: 'Save' }).click()
      const again = page.getByRole('dialog', { name: 'Log in' })
      await again.getByText('Your session has ended').waitFor()
      expect(await page.getByRole('heading', { name: 'Line' }).isVisible()).toBe(false)
      await page.unroute('**/rest/**')
      await again.getByLabel('Email').fill(system.garden.email)
      await again.getByLabel('Password').fill(system.garden.password)
      await again.getByRole('button', { name: 'Log in' }).click()
      await again.waitFor({ state: 'detached' })
      expect(await page.getByLabel('Description').inputValue()).toBe('Not saved yet')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()
    })
  })

  test('is of nobody else who logs in then', async () => {
    const rival = await register(system.url, 'rival')
    await onPage({}, async (page, context) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      await page.getByLabel('Description').fill('Of the garden')
      await context.clearCookies()
      await page.route('**/rest/**', (route) => route.fulfill({ status: 401, json: {} }))
      await page.getByRole('button', { name: 'Save' }).click()
      const again = page.getByRole('dialog', { name: 'Log in' })
      await again.waitFor()
      await page.unroute('**/rest/**')
      await again.getByLabel('Email').fill(rival.email)
      await again.getByLabel('Password').fill(rival.password)
      await again.getByRole('button', { name: 'Log in' }).click()
      await again.waitFor({ state: 'detached' })
      await page.getByRole('alert').waitFor()
      expect(await page.content()).not.toContain('Of the garden')
    })
  })
})

describe('a conversation', () => {
  test('shows addresses as links, which lead nowhere with a referrer', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${carla}`, '.bubble')
      const link = page.locator('.theirs a', { hasText: 'example.com' })
      expect(await link.getAttribute('href')).toBe('https://example.com/a_b_c')
      expect(await link.getAttribute('rel')).toContain('noreferrer')
    })
  })

  test('shows a reply that the provider refused for good as not delivered, with the reason, and its message says what to do', async () => {
    const thread = await conversationWith('Nina', { phone: '5511988880003', input: 'Hi', extId: 'refused' })
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${thread}`, '.reply')
      await reply(page).fill('It does not leave')
      await reply(page).press('Enter')
      const said = page.locator('.said.team', { hasText: 'It does not leave' })
      await said.getByText('not delivered').waitFor()
      await said.locator('.under.wrong a').click()
      await page.getByText('What to do').waitFor()
      await page.getByText('store a new one').waitFor()
      await page.getByText('It said:').waitFor()
      const sends = page.locator('.card', { has: page.getByRole('heading', { name: 'Sends' }) })
      expect(await sends.locator('.badge').allTextContents()).toEqual(['failed'])
    })
  })

  test('that is taken over has the focus in the reply', async () => {
    const thread = await conversationWith('Olga', { phone: '5511988880004', input: 'Hi' })
    expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'assistant' })).status).toBe(200)
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${thread}`, '.take-over')
      await page.getByRole('button', { name: 'Take over' }).click()
      await reply(page).waitFor()
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
    })
  })
})

describe('the way in', () => {
  test('has an address for new workspaces, focus in its first field, and says what is wrong in words of the form', async () => {
    await onPage({}, async (page) => {
      const focused = () => page.evaluate(() => document.activeElement?.getAttribute('autocomplete'))
      await page.goto(`${system.url}/console/register`)
      await page.getByLabel('Your name').fill('Rui')
      await page.getByLabel('Email').fill('rui@new.example.com')
      await page.getByLabel('Phone').fill('11 98888')
      await page.getByLabel('Workspace').fill('New Co!')
      await page.getByLabel('Password').fill('correct horse battery staple')
      await page.getByRole('button', { name: 'Show' }).click()
      expect(await page.getByLabel('Password').getAttribute('type')).toBe('text')
      await page.getByRole('button', { name: 'Create a workspace' }).click()
      await page.getByText('is no phone number').waitFor()
      await page.getByText('has letters, digits').waitFor()

      await page.getByRole('link', { name: 'Log in' }).click()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      await page.goto(`${system.url}/console/login`)
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      expect(await focused()).toBe('username')
      await page.getByLabel('Email').fill(system.garden.email)
      await page.getByLabel('Password').fill('wrong')
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByText('The email or the password is wrong.').waitFor()
    })
  })

  test('leads on where somebody is logged in already', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await page.goto(`${system.url}/console/login`)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.goto(`${system.url}/console/invitation#some-token`)
      await page.getByText('log out to accept it').waitFor()
      await page.getByRole('main').getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('heading', { name: 'Accept the invitation' }).waitFor()
    })
  })
})

describe('a channel', () => {
  test('that is being connected is gone on with after a reload, and says that a provider needs an address in public', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1/connect', '.facts')
      await page.getByText('an https address that the internet can reach').waitFor()
      await page.reload()
      await page.getByRole('heading', { name: '2. Receive' }).waitFor()
      await page.getByRole('heading', { name: '4. Send a test' }).waitFor()
    })
  })

  test('that was deleted is put back as it was', async () => {
    await call('PUT', '/rest/channels/3', {
      ...{ name: 'Gone', description: 'Old', extId: 'gone', hook: 'rpc', callback: 'rpc' },
      ...{ handlerUrl: 'native:agents/echo', config: { callbackUrl: 'https://example.com/x' } },
    })
    const { json: before } = await call('GET', '/rest/channels/3')
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/3', 'form')
      await page.getByRole('button', { name: 'Delete channel Gone' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('Gone was deleted.').waitFor()
      expect((await call('GET', '/rest/channels/3')).status).toBe(404)
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('heading', { name: 'Gone' }).waitFor()
    })
    const { json: after } = await call('GET', '/rest/channels/3')
    const { createdAt: _made, updatedAt: _changed, ...document } = before
    expect(after).toMatchObject(document)
  })

  test('that was deleted is restored with its secrets, from its entry in the audit log', async () => {
    await call('PUT', '/rest/channels/4', {
      ...{ name: 'Late', description: 'Old', extId: 'late', hook: 'whatsapp', callback: 'whatsapp' },
      ...{ handlerUrl: 'native:agents/echo', config: { phoneNumberId: '9', accessToken: 'only-here' } },
    })
    const { json: before } = await call('GET', '/rest/channels/4')
    expect((await call('DELETE', '/rest/channels/4')).status).toBe(200)
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/team/audit?resource=channels&action=delete', 'tbody tr')
      await page.getByRole('link', { name: /^Channels No\. 4: / }).click()
      await page.getByText('deleted it').waitFor()
      await page.getByRole('button', { name: 'Restore' }).click()
      await page.getByRole('heading', { name: 'Late' }).waitFor()
    })
    const { json: after } = await call('GET', '/rest/channels/4')
    const { createdAt: _made, updatedAt: _changed, ...document } = before
    expect(after).toMatchObject(document)
  })
})
