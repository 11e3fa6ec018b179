import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type EverythingServer,
  startEverythingServer,
} from '../../../services/dispatcher/test/agents/mcp-server.ts'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
let everything: EverythingServer
let isClosed = false

const closeServer = async () => {
  if (isClosed) return
  isClosed = true
  await everything.close()
}

beforeAll(async () => {
  everything = await startEverythingServer()
})
afterAll(closeServer)

async function configsOf(): Promise<string> {
  const { json } = await system.parley.call('GET', '/rest/configs', { token: system.garden.token })
  return JSON.stringify(json.data)
}

test('a key is tested: one that the provider refuses fails, another works and is the one that is stored', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/new', '.setup-form')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Bia')
    await page.getByLabel('Provider').selectOption({ label: 'OpenAI-compatible server' })
    const model = page.locator('.card', { has: page.getByRole('heading', { name: 'Model', exact: true }) })
    await page.getByRole('combobox', { name: 'Model', exact: true }).fill('simulator')
    await page.getByLabel('Address of its API').fill(`${system.parley.system.modelSimulatorUrl}/v1`)
    const key = model.locator('input[type=password]')
    await key.fill('expired')
    await page.getByRole('button', { name: 'Save and test the key' }).click()
    await model.getByText('failing', { exact: true }).waitFor()
    await key.fill('the-key-of-bia')
    await page.getByRole('button', { name: 'Save and test the key' }).click()
    await model.getByText('working', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('A key is stored.').waitFor()
    expect(await key.inputValue()).toBe('')
  })
  const configs = await configsOf()
  expect(configs).toContain('"the-key-of-bia"')
  expect(configs).not.toContain('"expired"')
})

test('tools come from a chosen file, check boxes choose among its operations, and one that is no document is refused', async () => {
  const spec = {
    ...{ openapi: '3.1.0', info: { title: 'Orders', version: '1' } },
    servers: [{ url: 'https://orders.example.com' }],
    paths: { '/orders': { get: { operationId: 'listOrders' }, post: { operationId: 'placeOrder' } } },
  }
  const fileOf = (text: string) => ({
    ...{ name: 'orders.json', mimeType: 'application/json' },
    buffer: Buffer.from(text),
  })
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/new', '.setup-form')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Olga')
    const chooser = async (text: string) => {
      const opened = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Choose a file' }).click()
      await (await opened).setFiles(fileOf(text))
    }
    await chooser('no document')
    await page.getByRole('list', { name: 'Missing tools' }).waitFor()
    await chooser(JSON.stringify(spec))
    await page.getByText('All of its 2 operations').click()
    await page.getByRole('checkbox', { name: 'placeOrder' }).uncheck()
    await page.getByText('1 of its 2 operations').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    await page.reload()
    await page.getByText('1 of its 2 operations').click()
    expect(await page.getByRole('checkbox', { name: 'listOrders' }).isChecked()).toBe(true)
    expect(await page.getByRole('checkbox', { name: 'placeOrder' }).isChecked()).toBe(false)
  })
  const configs = await configsOf()
  expect(configs).toContain('"listOrders"')
  expect(configs).not.toContain('placeOrder')
})

test('the connection of an MCP server is tested: it works, and fails once the server is gone', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/new', '.setup-form')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Rui')
    await page.getByLabel('Address of an OpenAPI document or an MCP server').fill(everything.url)
    await page.getByRole('button', { name: 'Add the tools' }).click()
    const tool = page.getByRole('region', { name: 'Tool 1' })
    await tool.waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    const button = page.getByRole('button', { name: 'Test connection of tool 1' })
    await button.click()
    await tool.getByText('working', { exact: true }).waitFor()
    await closeServer()
    await button.click()
    await tool.getByText('failing', { exact: true }).waitFor()
  })
})

test('a step is connected to the one that it is dragged to, and to the one that is chosen by the keyboard', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/new', '.setup-form')
    for (const [at, name] of ['Greet', 'Look up', 'Refund'].entries()) {
      await page.getByRole('button', { name: 'Add a step' }).click()
      await page.getByLabel(`Step ${at + 1}`, { exact: true }).fill(name)
    }
    const after = page.getByLabel('After step 1')
    const chosen = () => after.evaluate((one: HTMLSelectElement) => one.selectedOptions[0]?.text)
    const second = page.locator('.step-card').nth(1)
    expect(await chosen()).toBe('Look up')
    const third = page.locator('.step-card').nth(2)
    const handle = page.getByRole('img', { name: 'Drag from step 1 to the step that comes next' })
    await handle.hover()
    await page.mouse.down()
    // The drag begins before the page scrolls to the card: it is of what lies where the button was pressed.
    await handle.hover({ position: { x: 4, y: 4 } })
    await third.hover()
    await third.hover({ position: { x: 40, y: 20 } })
    await page.mouse.up()
    await second.getByText('not reached').waitFor()
    expect(await chosen()).toBe('Refund')
    await after.focus()
    await page.keyboard.type('Look')
    await second.getByText('not reached').waitFor({ state: 'detached' })
    expect(await chosen()).toBe('Look up')
  })
})
