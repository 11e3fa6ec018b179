import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import {
  type EverythingServer,
  startEverythingServer,
} from '../../../services/dispatcher/test/agents/mcp-server.ts'
import { specAt } from '../../../services/dispatcher/test/functions/function-bodies.ts'
import { violations } from './axe.ts'
import { consoleSystem } from './console-system.ts'
import { register, signIn } from './pages.ts'

const MOST_INPUTS = 25
const MOST_TABS = 60

let everything: EverythingServer
let shop: { url: string; close(): Promise<void> }
const system = consoleSystem()
const { onPage, open } = system

beforeAll(async () => {
  everything = await startEverythingServer()
  shop = await listen((req, res) => {
    const isSpec = req.url === '/openapi.yaml'
    res.writeHead(200).end(isSpec ? specAt(shop.url) : '{"refunded":true}')
  })
})
afterAll(async () => {
  await everything.close()
  await shop.close()
})

/** A keyboard, and how often something was put in: a field that was filled, or a button, a link or an option that was activated. */
function keyboardOf(page: Page) {
  let inputs = 0
  /** Goes on with Tab to what has this name; that is no input. */
  const tabTo = async (name: string | RegExp) => {
    const isThere = (text: string) => (typeof name === 'string' ? text === name : name.test(text))
    const passed: string[] = []
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      const focused = await page.evaluate(() => {
        const element = document.activeElement as HTMLInputElement | null
        const label = element?.labels?.[0]?.textContent
        return (label ?? element?.getAttribute('aria-label') ?? element?.textContent ?? '')
          .replace(' (optional)', '')
          .trim()
      })
      if (isThere(focused)) return
      passed.push(focused)
      await page.keyboard.press('Tab')
    }
    throw new Error(`Tab does not come to ${name}, but to: ${passed.join(' | ')}`)
  }
  return {
    fill: async (name: string, text: string) => {
      await tabTo(name)
      await page.keyboard.type(text)
      inputs++
    },
    press: async (name: string | RegExp) => {
      await tabTo(name)
      await page.keyboard.press('Enter')
      inputs++
    },
    inputs: () => inputs,
  }
}

test('an assistant with a key, two tools and three steps is made from an empty workspace with the keyboard alone, in 25 inputs at most', async () => {
  const account = await register(system.url, 'keyboard')
  await onPage({}, async (page) => {
    await signIn(page, system.url, account)
    const { fill, press, inputs } = keyboardOf(page)
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    await press('Make an assistant')
    await page.getByRole('heading', { name: 'New assistant' }).waitFor()
    await fill('Name', 'Bia')
    await fill('Who it is and how it speaks', 'You are friendly and brief.')
    await fill('Provider', 'OpenAI-')
    await fill('Model', 'simulator')
    await fill('Address of its API', `${system.parley.system.modelSimulatorUrl}/v1`)
    await fill('Key', 'the-key-of-bia')
    for (const [at, url] of [`${shop.url}/openapi.yaml`, everything.url].entries()) {
      await fill('Address of an OpenAPI document or an MCP server', url)
      await press('Add the tools')
      await page.getByLabel(`Name of tool ${at + 1}`).waitFor()
    }
    for (const [at, name] of ['Greet', 'Look up', 'Refund'].entries()) {
      await press('Add a step')
      await page.getByLabel(`Step ${at + 1}`, { exact: true }).waitFor()
      await fill(`Step ${at + 1}`, name)
      await fill(`What it does in step ${at + 1}`, `Does ${name}.`)
      await fill(`Step ${at + 1} is done when`, 'the person agrees')
    }
    await press('Save')
    await page.getByText('Saved.').waitFor()
    expect(inputs()).toBeLessThanOrEqual(MOST_INPUTS)

    await fill('A message to Bia', 'refund {"order":"7","amount":1}')
    await page.keyboard.press('Enter')
    await page.locator('.turn').getByText('refund', { exact: true }).waitFor()
    await page.getByText(/tokens in/).waitFor()
    await fill('A message to Bia', 'submit {"name":"Ana"}')
    await page.keyboard.press('Enter')
    await page.getByText(/^The task Workflow is at the step/).waitFor()
  })
  const read = async (path: string) =>
    (await system.parley.call('GET', path, { token: account.token })).json as {
      data: Record<string, unknown>[]
    }
  const [assistant] = (await read('/rest/assistant')).data
  expect(assistant).toMatchObject({ name: 'Bia', actions: [expect.any(Number), expect.any(Number)] })
  const [workflow] = (await read('/rest/workflows')).data
  expect(workflow?.steps).toHaveLength(3)
  const steps = (await read('/rest/steps')).data
  expect(steps.filter(({ next }) => next == null)).toHaveLength(1)
  const configs = (await read('/rest/configs')).data
  expect(configs.map(({ name }) => name).sort()).toEqual(['credentials', 'model'])
})

test('a role is made by check boxes, with the expressions that they come to, and a typed one is checked', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/team/roles', 'tbody tr')
    await page.getByRole('button', { name: 'New role' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Support')
    await dialog.getByRole('checkbox', { name: 'Read Messages' }).check()
    await dialog.getByLabel('Which Messages').fill('{{doc.channel}} ==')
    await dialog.getByText(/^Column \d+: /).waitFor()
    await dialog.getByLabel('Which Messages').fill("{{doc.channel}} == 'support-line'")
    await dialog.getByRole('checkbox', { name: 'Write Conversations' }).check()
    await dialog.getByText('As expressions').click()
    const entries = JSON.parse(await dialog.getByLabel('Entries').inputValue())
    expect(entries).toContainEqual(
      expect.objectContaining({
        schema: expect.stringContaining("'messages'"),
        read: "{{doc.channel}} == 'support-line'",
      }),
    )
    await dialog.getByLabel('Entries').fill('{}')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('.failure').waitFor()
    await dialog.getByLabel('Entries').fill(JSON.stringify(entries))
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Support', exact: true }).waitFor()
  })
  const { json } = await system.parley.call('GET', '/rest/roles', { token: system.garden.token })
  const made = (json.data as { name: string; permissions: unknown[] }[]).find(
    ({ name }) => name === 'Support',
  )
  expect(made?.permissions).toHaveLength(2)
})

test('a message that would fail again is not offered for a replay, nor are all of its kind', async () => {
  const { token } = system.garden
  const channel = {
    ...{ name: 'Line', description: '', extId: 'no-address', hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId: '1', accessToken: 'demo', apiUrl: `${system.parley.system.simulatorUrl}/v23.0` },
  }
  expect((await system.parley.call('POST', '/rest/channels', { body: channel, token })).status).toBe(200)
  const body = { extId: 'no-address', user: {}, thread: { extId: 'nobody' }, answer: { message: 'Hello' } }
  const posted = await system.parley.call('POST', '/rest/messages', { body, token })
  const id = posted.headers.get('x-message-id')
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, `/messages/${id}`, '.timeline')
    await page.locator('.badge', { hasText: 'dead' }).first().waitFor()
    await page.getByText('Caused by').waitFor()
    expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0)
    await open(page, '/messages?state=dead&fault=caller', 'tbody tr')
    expect(await page.getByRole('button', { name: 'Replay these…' }).count()).toBe(0)
    await open(page, '/', '.tiles')
    await page.getByText('A replay would fail again').waitFor()
    expect(await page.getByRole('button', { name: /^Replay/ }).count()).toBe(0)
  })
})

test('axe finds nothing on the page of an assistant', async () => {
  await onPage({ bypassCSP: true }, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/new', '.setup-form')
    await page.getByRole('button', { name: 'Add a step' }).click()
    expect(await violations(page, '/assistants/new')).toEqual([])
  })
})
