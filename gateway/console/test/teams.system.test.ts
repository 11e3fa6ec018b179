import { beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { violations } from './axe.ts'
import { hearNotices } from './busy-inbox.ts'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
async function made(method: string, path: string, body: object, token = system.garden.token) {
  const { status, json } = await system.parley.call(method, path, { token, body })
  if (status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`)
  return json
}

let bruno: { email: string; password: string; token: string }

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const config = { phoneNumberId: '6401', accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` }
  const line = { name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' }
  await made('PUT', '/rest/channels/1', { ...line, handlerUrl: 'native:agents/echo', config })
  const login = { email: 'bruno@garden.example.com', password: system.garden.password }
  await made('POST', '/rest/users', { ...login, name: 'Bruno Lima', phone: '1', role: 'MEMBER' })
  const { accessToken } = await made('POST', '/api/auth/login', { username: login.email, ...login })
  bruno = { ...login, token: String(accessToken) }
  const notices = { desktop: true, onlyOwn: true }
  await made('PATCH', '/api/auth/me', { preferences: { notices } }, bruno.token)
})

/** Somebody has written, and the team has the conversation. */
async function conversationWith(name: string, phone: string): Promise<string> {
  await writes(name, phone, 'Hello')
  const thread = await eventually(async () => {
    const { json } = await system.parley.call('GET', `/rest/threads?q=${name}`, { token: bruno.token })
    return (json.data as { _id: string }[])[0]?._id
  })
  await made('PATCH', `/rest/threads/${thread}`, { handler: 'person' })
  return thread
}

const writes = (name: string, phone: string, input: string) =>
  made('POST', '/api/hooks/whatsapp', {
    ...{ extId: 'line', user: { name, phone }, thread: { extId: name }, answer: {}, input },
  })

const row = (page: Page, name: string) => page.locator('.threads a', { hasText: name })
const assignee = (page: Page) => page.locator('.conversation-sorting').getByLabel('Assigned to')
const teamRow = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) })

test('a team is made, has conversations, of which its members are told once, and goes', async () => {
  const [alda, bela] = [
    await conversationWith('Alda', '5511988884001'),
    await conversationWith('Bela', '5511988884002'),
  ]
  await onPage({ bypassCSP: true }, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/team/teams', '.empty')
    await page.getByRole('button', { name: 'New team' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Delivery')
    await page.getByRole('checkbox', { name: 'Bruno Lima' }).check()
    expect(await violations(page, 'a new team')).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await teamRow(page, 'Delivery').getByText('Bruno Lima').waitFor()
    await made('POST', '/rest/teams', { name: 'Sales', members: [] })

    await onPage({}, async (his, context) => {
      const raised: string[] = []
      await hearNotices(context, (title, text) => raised.push(`${title}: ${text}`))
      await signIn(his, system.url, bruno)
      await open(his, '/conversations', '.threads a')
      await his.getByRole('button', { name: 'My teams' }).waitFor()
      const other = await context.newPage()
      await open(other, '/conversations', '.threads a')
      await other.getByRole('button', { name: 'My teams' }).waitFor()

      await open(page, `/conversations/${bela}`, '.conversation-sorting')
      await assignee(page).selectOption({ label: 'Sales' })
      await row(page, 'Bela').getByText('Sales').waitFor()
      await open(page, `/conversations/${alda}`, '.conversation-sorting')
      await assignee(page).selectOption({ label: 'Delivery' })
      await row(page, 'Alda').getByText('Delivery').waitFor()
      await eventually(() => raised.length > 0)
      // A user who has a conversation open has read its new messages.
      await open(page, '/conversations', '.threads a')
      // Messages for others are told to nobody of the team, and every notice is told once over both tabs.
      await writes('Bela', '5511988884002', 'Of this he is not told')
      await row(page, 'Bela').getByText('Of this he is not told').waitFor()
      await writes('Alda', '5511988884001', 'Anybody?')
      await eventually(() => raised.length > 1)
      expect(raised).toEqual(['Alda: Assigned to Delivery. Hello', 'Alda: Anybody?'])

      await his.bringToFront()
      await his.getByRole('button', { name: 'My teams' }).click()
      await row(his, 'Bela').waitFor({ state: 'detached' })
      await row(his, 'Alda').click()
      await assignee(his).selectOption({ label: 'Bruno Lima (me)' })
      await his.locator('.conversation-sorting').getByText('Team Delivery').waitFor()
      await row(his, 'Alda').getByText('with Bruno Lima').waitFor()
      await his.getByLabel('Assigned to').first().selectOption({ label: 'Team Sales' })
      await row(his, 'Bela').waitFor()
      await row(his, 'Alda').waitFor({ state: 'detached' })
    })

    await open(page, '/team/teams', 'tbody tr')
    await page.getByRole('button', { name: 'Change Sales' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Shop')
    await page.getByRole('button', { name: 'Save' }).click()
    await teamRow(page, 'Shop').waitFor()
    await open(page, `/conversations/${bela}`, '.conversation-sorting')
    await row(page, 'Bela').getByText('Shop').waitFor()
    await open(page, '/team/teams', 'tbody tr')
    await page.getByRole('button', { name: 'Delete team Shop' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await teamRow(page, 'Shop').waitFor({ state: 'detached' })
    await open(page, `/conversations/${bela}`, '.conversation-sorting')
    await assignee(page).getByText('Sales (gone)').waitFor({ state: 'attached' })
    await page.getByLabel('Assigned to').first().selectOption({ label: 'Nobody' })
    await row(page, 'Bela').waitFor()
    await row(page, 'Alda').waitFor({ state: 'detached' })
    await assignee(page).selectOption({ label: 'Nobody' })
    await row(page, 'Bela').getByText('Sales').waitFor({ state: 'detached' })
  })
})
