import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })

beforeAll(async () => {
  const apiUrl = `${system.parley.system.simulatorUrl}/v23.0`
  const line = {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo', config: { phoneNumberId: '8301', accessToken: 'secret', apiUrl } },
  }
  expect((await call('PUT', '/rest/channels/1', line)).status).toBe(200)
  for (const [phone, name, tags] of [
    ['5511988880001', 'Ana Prado', ['vip']],
    ['5511988880002', 'Bruno Reis', []],
    ['5511988880003', 'Carla Dias', ['vip', 'santos']],
  ] as const)
    expect((await call('POST', '/rest/people', { addresses: [`phone:${phone}`], name, tags })).status).toBe(
      200,
    )
  const marketing = { status: 'granted', text: 'Send me offers' }
  expect((await call('PATCH', '/rest/people/phone:5511988880003', { consent: { marketing } })).status).toBe(
    200,
  )
  const user = { name: 'Carla Dias', phone: '+5511988880003' }
  const body = { extId: 'line', user, thread: { extId: 'carla' }, answer: {}, input: 'Hello' }
  expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
})

const lists = (page: Page, ...names: string[]) =>
  eventually(async () => {
    const shown = await page.locator('tbody td:first-child').allTextContents()
    return JSON.stringify(shown.sort()) === JSON.stringify(names)
  })

test('people are found, and one is changed, consents, is exported and erased', async () => {
  await onPage({ acceptDownloads: true }, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.getByRole('link', { name: 'People' }).click()
    await lists(page, 'Ana Prado', 'Bruno Reis', 'Carla Dias')
    await page.getByLabel('Tag').fill('vip')
    await lists(page, 'Ana Prado', 'Carla Dias')
    await page.getByLabel('Marketing').selectOption({ label: 'Granted' })
    await lists(page, 'Carla Dias')
    await page.getByLabel('Tag').fill('')
    await page.getByLabel('Marketing').selectOption({ label: 'Said nothing' })
    await lists(page, 'Ana Prado', 'Bruno Reis')
    await page.getByLabel('Marketing').selectOption({ label: 'Any' })
    await page.getByLabel('Name or number').fill('+55 11 98888-0003')
    await lists(page, 'Carla Dias')

    await page.getByRole('link', { name: 'Attributes' }).click()
    for (const [name, type] of [
      ['city', 'text'],
      ['purchases', 'number'],
    ]) {
      await page.getByLabel('Name').fill(name ?? '')
      await page.getByLabel('Type').selectOption(type ?? '')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.locator('tbody tr', { hasText: name ?? '' }).waitFor()
    }

    await open(page, '/people/phone:5511988880003', 'form')
    await page.locator('.rows').getByRole('link', { name: 'line' }).waitFor()
    await page.getByLabel('city').fill('Santos')
    await page.getByLabel('purchases').fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.failure').getByText('purchases').first().waitFor()
    await page.getByLabel('purchases').fill('3')
    await page.getByLabel('Tags').fill('vip, new')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect((await call('GET', '/rest/people/phone:5511988880003')).json).toMatchObject({
      ...{ name: 'Carla Dias', tags: ['vip', 'new'], attributes: { city: 'Santos', purchases: 3 } },
    })

    await page.locator('.timeline').getByText('Send me offers').waitFor()
    await page.getByRole('button', { name: 'Change consent' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('They have').inputValue()).toBe('withdrawn')
    await dialog.getByLabel('Their words').fill('No more, please')
    await dialog.getByRole('button', { name: 'Change', exact: true }).click()
    await page.locator('.timeline').getByText('No more, please').waitFor()
    await page.locator('.facts').getByText('withdrawn').waitFor()

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    const exported = JSON.parse(await readFile(await file.path(), 'utf8'))
    expect(exported.person.name).toBe('Carla Dias')
    expect(exported.consentHistory.length).toBe(2)
    expect(exported.messages.length).toBe(1)

    await page.getByRole('button', { name: 'Erase Carla Dias' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click()
    await page.getByText('Carla Dias was erased').waitFor()
    await lists(page, 'Ana Prado', 'Bruno Reis')
  })
  expect((await call('GET', '/rest/people/phone:5511988880003')).status).toBe(404)
})

test('what somebody else changed of a person meanwhile is not overwritten', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/people/phone:5511988880002', 'form')
    await page.getByLabel('Name').fill('Bruno R.')
    expect((await call('PATCH', '/rest/people/phone:5511988880002', { language: 'pt_BR' })).status).toBe(200)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('This was changed since it was loaded here').waitFor()
    await page.getByRole('button', { name: 'Load it again' }).click()
    await eventually(async () => (await page.getByLabel('Language').inputValue()) === 'pt_BR')
    expect(await page.getByLabel('Name').inputValue()).toBe('Bruno Reis')
  })
})

test('a segment is counted while it is made, is saved, changed and deleted', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/people/segments', '.empty')
    await page.getByRole('link', { name: 'Make the first one' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Very important')
    await page.getByText('All of these, condition 1: the tag is missing.').waitFor()
    await page.getByLabel('Is', { exact: true }).fill('vip')
    await page.getByText('1 person now').waitFor()
    await page.getByRole('button', { name: 'Add a condition to: None of these' }).click()
    await page.getByLabel('None of these, condition 1', { exact: true }).selectOption({ label: 'Consent' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Very important is saved').waitFor()
    const { data } = (await call('GET', '/rest/segments')).json as { data: object[] }
    expect(data).toMatchObject([
      { filter: { all: [{ tag: 'vip' }], none: [{ consent: 'marketing', is: 'granted' }] } },
    ])

    await page.getByRole('button', { name: 'Remove: None of these, condition 1' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually(async () => {
      const { data: now } = (await call('GET', '/rest/segments')).json as { data: { filter: object }[] }
      return !('none' in (now[0]?.filter ?? {}))
    })
    await page.getByRole('link', { name: '← Segments' }).click()
    await page.getByRole('button', { name: /^Count/ }).click()
    await page.locator('tbody').getByText('1', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Very important' }).click()
    await page.getByRole('button', { name: 'Delete segment Very important' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No segments yet').waitFor()
  })
})
