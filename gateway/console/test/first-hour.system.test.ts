import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { violations } from './axe.ts'
import { consoleSystem } from './console-system.ts'
import { goInside, register, signIn } from './pages.ts'

const system = consoleSystem()
const { onPage } = system

describe('a workspace without messages', () => {
  test('leads through four steps, each of which is done once it is: assistant, trial, simulator with one click, message', async () => {
    const shop = await register(system.url, 'four-steps')
    await onPage({ bypassCSP: true }, async (page) => {
      await signIn(page, system.url, shop)
      const step = (name: string) => page.locator('li', { has: page.getByText(name, { exact: true }) })
      await step('Connect a channel').getByRole('button', { name: 'Use the simulator' }).waitFor()
      expect(await page.getByText('done', { exact: true }).count()).toBe(0)

      await page.getByRole('link', { name: 'Make an assistant' }).click()
      await page.getByLabel('Name', { exact: true }).first().fill('Flora')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.waitForURL(/\/assistants\/\d+$/)
      await goInside(page, '', '.rows')
      await step('Make an assistant').getByText('done', { exact: true }).waitFor()

      await page.getByRole('link', { name: 'Try it' }).click()
      await page.getByLabel('A message to Flora').fill('Hello')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.locator('.trial .bubble.ours').waitFor()
      await goInside(page, '', '.rows')
      await step('Try it').getByText('done', { exact: true }).waitFor()

      await page.getByRole('button', { name: 'Use the simulator' }).click()
      await page.waitForURL(/\/channels\/\d+\/connect$/)
      const checked = page.getByRole('list', { name: 'What was checked' })
      await checked.getByText('Updates of the account go to Simulated app.').waitFor()
      await checked.getByText('Webhook', { exact: true }).waitFor()
      expect(await checked.locator('strong').allTextContents()).toEqual([
        ...['Access token', 'Number', 'Subscription', 'Webhook'],
      ])
      expect(await violations(page, 'the last step of the wizard')).toEqual([])
      await goInside(page, '', '.rows')
      await step('Connect a channel').getByText('done', { exact: true }).waitFor()

      await page.getByRole('link', { name: 'Send a first message' }).click()
      await page.getByLabel('Phone').fill('+55 11 98888-7777')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByRole('status').getByText('sent', { exact: true }).waitFor()
      await goInside(page, '', '.tiles')
    })
  })

  test('is shown with sample data, which are removed again with everybody in them', async () => {
    const shop = await register(system.url, 'samples')
    const count = async (resource: string) => {
      const { json } = await system.parley.call('GET', `/rest/${resource}?limit=200`, { token: shop.token })
      return (json.data as unknown[]).length
    }
    await onPage({}, async (page) => {
      await signIn(page, system.url, shop)
      await page.getByRole('button', { name: 'Show me with sample data' }).click()
      await page.getByText(/^Made: an assistant with a tool and a workflow, a channel, \d+ people/).waitFor()
      await page.waitForSelector('.tiles')
      await eventually(async () => (await count('messages')) > 20)
      expect(await count('channels')).toBe(1)
      const { json } = await system.parley.call('GET', '/rest/threads?handler=person', { token: shop.token })
      expect(json.data).toEqual([
        expect.objectContaining({ user: expect.objectContaining({ name: 'Marta Nunes' }) }),
      ])

      // A message that is still in flight would begin a conversation again.
      await eventually(async () => {
        const path = '/rest/messages/conservation'
        const { json } = await system.parley.call('GET', path, { token: shop.token })
        return json.inFlight === 0
      })
      await page.reload()
      await page.getByRole('button', { name: 'Remove the sample data' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
      await page.getByText('The sample data are gone.').waitFor()
      for (const resource of [
        'actions',
        'steps',
        'workflows',
        'jobs',
        'assistant',
        'channels',
        'configs',
        'threads',
      ])
        expect([resource, await count(resource)]).toEqual([resource, 0])
      await eventually(async () => (await count('messages')) === 0)
    })
  })

  test('offers neither to who may not make them', async () => {
    const shop = await register(system.url, 'lookers')
    const user = { name: 'Vera', phone: '+5511999990002', role: 'VIEWER' }
    const body = { ...user, email: 'vera@lookers.example.com', password: shop.password }
    await system.parley.call('POST', '/rest/users', { body, token: shop.token })
    await onPage({}, async (page) => {
      await signIn(page, system.url, { email: body.email, password: shop.password })
      await page.getByText('Needs attention').waitFor()
      expect(await page.getByRole('button', { name: /simulator|sample/ }).count()).toBe(0)
    })
  })
})

test('the wizard says what is wrong with a channel at its provider: a number that does not respond', async () => {
  const shop = await register(system.url, 'wrong-numbers')
  const channel = {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId: '1', accessToken: 'secret-token', apiUrl: 'http://127.0.0.1:9/v23.0' },
  }
  const { json } = await system.parley.call('POST', '/rest/channels', { body: channel, token: shop.token })
  await onPage({}, async (page) => {
    await signIn(page, system.url, shop)
    await goInside(page, `/channels/${json._id}/connect`, '[aria-label="What was checked"] li')
    const checked = page.getByRole('list', { name: 'What was checked' })
    await checked.getByText('127.0.0.1:9 does not respond.').first().waitFor()
    await checked.getByText('Put the WhatsApp business account', { exact: false }).waitFor()
    expect(await checked.textContent()).not.toContain('secret-token')
    expect(await checked.getByText('to mend').count()).toBe(3)
  })
})
