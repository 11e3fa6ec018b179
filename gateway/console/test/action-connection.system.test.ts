import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type ConsentServer, startConsentServer } from '../../../services/dispatcher/test/consent-server.ts'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const ID = 31

const system = consoleSystem()
const { onPage, open } = system
let server: ConsentServer

beforeAll(async () => {
  server = await startConsentServer()
})
afterAll(() => server.close())

async function put(path: string, body: object): Promise<void> {
  const response = await fetch(`${system.url}/rest/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${system.garden.token}` },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
}

test('somebody tests the connection of an action, lets Parley in, and finds its tools', async () => {
  const action = { name: 'Orders', description: 'Orders', specType: 'mcp', spec: '' }
  await put(`actions/${ID}`, { ...action, moduleUrl: `${server.url}/mcp` })
  await put('configs/orders-credentials', {
    ...{ name: 'credentials', owner: ID, ownerType: 'action' },
    value: { oauth: { grant: 'authorization_code' } },
  })
  await onPage({ elsewhere: server.url }, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, `/assistants/actions/${ID}`, 'text=Test connection')
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('failing', { exact: true }).waitFor()
    await page.getByText('Nobody has given consent yet').waitFor()

    await page.getByRole('button', { name: 'Connect with OAuth' }).click()
    await page.getByText('Connected.').waitFor()
    // Neither code nor state stay in the address.
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('working', { exact: true }).waitFor()
    await page.getByText('1 tool in').waitFor()
  })
  expect(server.asked.map((request) => request.get('grant_type'))).toEqual(['authorization_code'])
  expect(server.asked[0]?.get('code_verifier')).toMatch(/^[\w.~-]{43,128}$/)
})

test('what is missing of an action’s tools is named with its reason, where it is tested and in its assistant’s prompt', async () => {
  const id = ID + 1
  const note = `A tool of action ${id} is left out: it has no operationId (POST /orders).`
  const spec = {
    ...{ openapi: '3.1.0', info: { title: 'Shop', version: '1' }, servers: [{ url: 'http://127.0.0.1:9' }] },
    paths: { '/orders': { get: { operationId: 'listOrders' }, post: { summary: 'Orders something' } } },
  }
  await put(`actions/${id}`, {
    ...{ name: 'Shop', description: 'Orders', specType: 'openapi3-yaml', moduleUrl: 'native:request' },
    spec: JSON.stringify(spec),
  })
  await put(`assistant/${id}`, { name: 'Bia', description: '', backstory: '', actions: [id] })
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, `/assistants/actions/${id}`, 'text=Test connection')
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByRole('list', { name: 'Missing tools' }).getByText(note).waitFor()
    await open(page, `/assistants/assistant/${id}`, 'form')
    await page.getByRole('button', { name: 'Show the prompt' }).click()
    await page.getByRole('list', { name: 'Missing tools' }).getByText(note).waitFor()
  })
})
