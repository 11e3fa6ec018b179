import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { configOf, registerWebhook, simulatedNumber } from '@parley/local/simulator/client'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const NUMBER = '8201'
const PEOPLE = 12

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const number = simulatedNumber(simulatorUrl, NUMBER)
  const line = {
    ...{ name: 'Offers', description: '', extId: 'offers', hook: 'whatsapp', callback: 'whatsapp' },
    ...{
      handlerUrl: 'native:agents/echo',
      config: { ...configOf(number), businessAccountId: 'account-8201' },
    },
  }
  expect((await call('PUT', '/rest/channels/1', line)).status).toBe(200)
  const [slug = ''] = system.garden.host.split('.')
  await registerWebhook(number, `${system.url}/api/hooks/whatsapp/${slug}/offers`)
  expect((await call('POST', '/rest/templates/sync')).status).toBe(200)
  for (let at = 0; at < PEOPLE; at++) {
    const person = { addresses: [`phone:55119777700${10 + at}`], name: `Customer ${at}`, tags: ['shop'] }
    const { json } = await call('POST', '/rest/people', person)
    if (at === 0) continue
    const marketing = { status: at === 1 ? 'withdrawn' : 'granted' }
    expect((await call('PATCH', `/rest/people/${json._id}`, { consent: { marketing } })).status).toBe(200)
  }
  const segment = { name: 'Shop', filter: { all: [{ tag: 'shop' }] } }
  expect((await call('PUT', '/rest/segments/shop', segment)).status).toBe(200)
})

const choose = async (page: Page, label: string, option: RegExp) => {
  const select = page.getByLabel(label, { exact: true })
  const options = await eventually(async () => {
    const all = await select.locator('option').allTextContents()
    return all.some((text) => option.test(text)) ? all : undefined
  })
  await select.selectOption({ label: options.find((text) => option.test(text)) ?? '' })
}

test('a campaign is drafted, previewed, tried, started after its estimate, and accounts for everybody', async () => {
  await onPage({ acceptDownloads: true }, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.getByRole('link', { name: 'Campaigns' }).click()
    await page.getByRole('link', { name: 'Draft the first one' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Black Friday')
    await choose(page, 'Template', /^welcome_offer · pt_BR/)
    await page.getByLabel('{{1}}', { exact: true }).selectOption({ label: 'Their name' })
    await page.getByLabel('Without one, {{1}} is').fill('cliente')
    await page.getByLabel('Text of {{2}}').fill('20%')
    await page.locator('.bubble', { hasText: 'Hello cliente, 20%!' }).waitFor()
    await choose(page, 'Audience', /^A segment$/)
    await page.getByRole('button', { name: 'Save the draft' }).click()
    await page.getByText('Black Friday is drafted').waitFor()

    await page.locator('.bubble', { hasText: 'Hello Customer 2, 20%!' }).waitFor()
    await page.getByLabel('Your number').fill('+55 11 97777-9999')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('link', { name: 'What became of it' }).waitFor()
    await eventually(async () => (await system.parley.sends(NUMBER)).length === 1)

    await page.getByRole('button', { name: 'Start…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('of 12 people are written to').waitFor()
    expect(await dialog.locator('strong').textContent()).toBe('10')
    await dialog.getByText('1 left out: never gave consent').waitFor()
    await dialog.getByText('1 left out: withdrew consent').waitFor()
    await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByText('Everybody, counted once').waitFor()
    await page.locator('.page-head').getByText('finished').waitFor()
    const row = (name: string) =>
      page.getByRole('table', { name: 'Everybody, counted once' }).locator('tr', { hasText: name })
    await row('Delivered').getByText('10', { exact: true }).waitFor()
    await row('Audience').getByText('12', { exact: true }).waitFor()
    await row('Difference').getByText('0', { exact: true }).waitFor()

    const people = page.getByRole('table', { name: 'People of the campaign' })
    await eventually(async () => (await people.locator('tbody tr').count()) === PEOPLE)
    await page.getByLabel('State').selectOption({ label: 'left out' })
    await eventually(async () => (await people.locator('tbody tr').count()) === 2)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    const lines = (await readFile(await file.path(), 'utf8')).trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ end: true, recipients: PEOPLE })

    await page.getByRole('link', { name: '← Campaigns' }).click()
    await page.locator('tbody tr', { hasText: 'Black Friday' }).getByText('of 10').waitFor()
  })
  expect(new Set((await system.parley.sends(NUMBER)).map(({ to }) => to)).size).toBe(11)
})

test('the campaigns that wrote to a person, and their task, stand beside the conversation', async () => {
  const thread = await eventually(async () => {
    const { json } = await call('GET', '/rest/threads?q=5511977770015')
    return (json.data as { _id: string; extId: string; campaign?: object }[]).find(
      ({ campaign }) => campaign !== undefined,
    )
  })
  const task = {
    ...{ name: 'Return of a fern', description: '', extId: thread.extId, status: 'active', context: {} },
    ...{ workflow: 1, currentStep: 1 },
  }
  expect((await call('POST', '/rest/tasks', task)).status).toBe(200)
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, `/conversations/${thread._id}`, '.conversation-person')
    const aside = page.locator('.conversation-person')
    await aside.getByRole('heading', { name: 'Campaigns' }).waitFor()
    await aside.locator('li', { hasText: 'Black Friday' }).getByText('delivered').waitFor()
    await aside.getByRole('link', { name: 'Return of a fern' }).waitFor()
    await aside.getByRole('link', { name: 'Black Friday' }).click()
    await page.getByText('Everybody, counted once').waitFor()
  })
})

test('a campaign is changed, scheduled and taken back, and one that runs is paused, resumed and cancelled', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/campaigns/new', 'form')
    await page.getByLabel('Name', { exact: true }).fill('In May')
    await choose(page, 'Template', /^welcome_offer · en_US/)
    await page.getByLabel('Text of {{1}}').fill('you')
    await page.getByLabel('Text of {{2}}').fill('10%')
    await choose(page, 'Audience', /^Who meets conditions$/)
    await page.getByLabel('Is', { exact: true }).fill('shop')
    await page.getByText('12 people now').waitFor()
    await page.getByLabel('Begins').fill('2031-05-01T09:00')
    await page.getByLabel('Quiet from').fill('21:00')
    await page.getByLabel('Quiet to').fill('8')
    await page.getByLabel('Messages a second').fill('0.1')
    await page.getByLabel('Messages at most').fill('100')
    await page.getByRole('button', { name: 'Save the draft' }).click()
    await page.locator('.failure').getByText('is not a time such as 21:00').first().waitFor()
    await page.getByLabel('Quiet to').fill('08:00')
    await page.getByRole('button', { name: 'Save the draft' }).click()
    await page.getByText('In May is drafted').waitFor()

    await page.getByRole('button', { name: 'Schedule…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.locator('.page-head').getByText('scheduled').waitFor()
    await page.getByRole('button', { name: 'Back to draft' }).click()
    await page.getByRole('link', { name: 'Edit' }).click()
    expect(await page.getByLabel('Begins').inputValue()).toBe('2031-05-01T09:00')
    expect(await page.getByLabel('Quiet to').inputValue()).toBe('08:00')
    expect(await page.getByLabel('Text of {{2}}').inputValue()).toBe('10%')
    expect(await page.getByLabel('Messages at most').inputValue()).toBe('100')
    await page.getByLabel('Begins').fill('')
    await page.getByLabel('Quiet from').fill('')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.facts').getByText('at once').waitFor()

    await page.getByRole('button', { name: 'Start…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('by somebody of the team').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.locator('.page-head').getByText('running').waitFor()
    await page.getByRole('button', { name: 'Cancel campaign In May' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.locator('.page-head').getByText('cancelled').waitFor()
    await page
      .getByRole('table', { name: 'Everybody, counted once' })
      .locator('tr', { hasText: 'Difference' })
      .getByText('0', { exact: true })
      .waitFor()
    await page.getByRole('button', { name: 'Delete campaign In May' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('In May was deleted').waitFor()
  })
})
