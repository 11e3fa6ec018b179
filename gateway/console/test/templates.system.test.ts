import { beforeAll, expect, test } from '@jest/globals'
import { setTemplateState } from '@parley/local/simulator/client'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system

beforeAll(async () => {
  const { token } = system.garden
  const config = {
    ...{ phoneNumberId: '8101', accessToken: 'secret', businessAccountId: 'account-garden' },
    apiUrl: `${system.parley.system.simulatorUrl}/v23.0`,
  }
  const body = {
    ...{ name: 'Offers', description: '', extId: 'offers', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo', config },
  }
  expect((await system.parley.call('PUT', '/rest/channels/1', { body, token })).status).toBe(200)
})

/** Waits until the list has the templates of these names, and no others. */
const lists = (page: Page, ...names: string[]) =>
  eventually(async () => {
    const shown = await page.locator('tbody td:first-child').allTextContents()
    return JSON.stringify([...new Set(shown)].sort()) === JSON.stringify([...names].sort())
  })

test('the templates of an account are synchronised, listed by what they are, and shown as people see them', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.getByRole('link', { name: 'Templates' }).click()
    await page.getByText('No templates yet').waitFor()
    await page.getByRole('button', { name: 'Synchronise now' }).click()
    await page.getByText('as the provider has them now').waitFor()
    await lists(
      page,
      'hello_world',
      'invoice',
      'invoice_named',
      'login_code',
      'order_update',
      'welcome_offer',
    )
    await page.locator('tbody tr', { hasText: 'welcome_offer' }).first().getByText('approved').waitFor()
    expect(await page.locator('tbody tr', { hasText: 'welcome_offer' }).first().textContent()).toContain(
      'Offers',
    )

    await page.getByLabel('Category').selectOption({ label: 'marketing' })
    await lists(page, 'welcome_offer')
    await page.getByLabel('Category').selectOption({ label: 'Any' })
    await page.getByLabel('Name').fill('inv')
    await lists(page, 'invoice', 'invoice_named')
    await page.getByLabel('Status').selectOption({ label: 'paused' })
    await page.getByText('No templates match').waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()

    await page.locator('tbody tr', { hasText: 'welcome_offer' }).getByRole('link').first().click()
    await page.getByLabel('{{1}}').fill('Ana')
    await page.getByLabel('{{2}}').fill('20%')
    await page.locator('.bubble', { hasText: 'Hello Ana, 20%!' }).waitFor()
  })
})

test('a template is made with its checks shown, is refused in the provider’s words, is changed, paused and deleted', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/templates/new', 'form')
    await page.getByLabel('Name').fill('spring_offer')
    await page.getByLabel('Language').fill('pt_BR')
    await page.getByLabel('Header').selectOption({ label: 'Text' })
    await page.getByLabel('Header’s text').fill('Spring')
    await page.getByLabel('Text', { exact: true }).fill('{{1}}, it is spring')
    const checks = page.locator('.card', { has: page.getByRole('heading', { name: 'Checks' }) })
    await checks.getByText('begins or ends with a placeholder').waitFor()
    await checks.getByText('expected an example of each placeholder').waitFor()
    await page.getByLabel('Text', { exact: true }).fill('Hi {{1}}, it is spring: {{2}} off *today*.')
    await page.getByLabel('Example: {{1}}').fill('Ana')
    await page.getByLabel('Example: {{2}}').fill('20%')
    await page.getByLabel('Footer').fill('Write stop for no more')
    await page.getByRole('button', { name: 'Add a button' }).click()
    await page.getByLabel('Says').fill('See it')
    await page.getByLabel('Button 1', { exact: true }).selectOption({ label: 'Link' })
    await page.getByLabel('Address').fill('https://example.com/spring')
    await checks.getByText('Nothing speaks against it').waitFor()
    const bubble = page.locator('.bubble')
    expect(await bubble.textContent()).toContain('Hi Ana, it is spring: 20% off today.')
    expect(await bubble.locator('strong', { hasText: 'today' }).count()).toBe(1)
    await page.getByRole('button', { name: 'Submit for review' }).click()
    await page.getByRole('heading', { name: 'spring_offer' }).waitFor()
    await page.locator('.facts').getByText('pending').waitFor()
    await page.locator('.bubble', { hasText: 'Hi Ana, it is spring: 20% off today.' }).waitFor()
    const made = page.url()

    await open(page, '/templates/new', 'form')
    await page.getByLabel('Name').fill('spring_offer')
    await page.getByLabel('Language').fill('pt_BR')
    await page.getByLabel('Text', { exact: true }).fill('Again')
    await page.getByRole('button', { name: 'Submit for review' }).click()
    await page.getByText('There is already a template of this name').waitFor()

    const { simulatorUrl } = system.parley.system
    const number = { simulatorUrl, phoneNumberId: '8101' } as Parameters<typeof setTemplateState>[0]
    await setTemplateState(number, { name: 'spring_offer', status: 'PAUSED' })
    page.once('dialog', (dialog) => void dialog.accept())
    await page.goto(`${system.url}/console/templates?status=PAUSED`)
    await page.getByRole('button', { name: 'Synchronise now' }).click()
    await lists(page, 'spring_offer')

    await page.goto(made)
    await page.locator('.facts').getByText('paused').waitFor()
    await page.getByText('It would not be sent so').waitFor()
    await page.getByRole('link', { name: 'Edit' }).click()
    expect(await page.getByLabel('Footer').inputValue()).toBe('Write stop for no more')
    expect(await page.getByLabel('Example: {{2}}').inputValue()).toBe('20%')
    await page.getByLabel('Footer').fill('Write parar for no more')
    await page.getByRole('button', { name: 'JSON' }).click()
    expect(await page.getByLabel('Components').inputValue()).toContain('"text": "Write parar for no more"')
    await page.getByRole('button', { name: 'Submit for review' }).click()
    await page.locator('.bubble', { hasText: 'Write parar for no more' }).waitFor()

    await page.getByRole('button', { name: 'Delete template spring_offer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('spring_offer was deleted').waitFor()
    await lists(
      page,
      'hello_world',
      'invoice',
      'invoice_named',
      'login_code',
      'order_update',
      'welcome_offer',
    )
  })
})
