import { beforeAll, describe, expect, test } from '@jest/globals'
import { createParley } from '@parley/client'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { violations } from './axe.ts'
import { consoleSystem } from './console-system.ts'
import { type Account, goInside, register, signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })
async function made(method: string, path: string, body: object) {
  const { status, json } = await call(method, path, body)
  if (status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`)
  return json
}

type Login = Pick<Account, 'email' | 'password'>
let bruno: Login
/** Reads the threads of the channel `other` alone. */
let otto: Login

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const config = { phoneNumberId: '6201', accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` }
  const line = { description: '', hook: 'whatsapp', callback: 'whatsapp', handlerUrl: 'native:agents/echo' }
  await made('PUT', '/rest/channels/1', { ...line, name: 'Line', extId: 'line', config })
  await made('PUT', '/rest/channels/2', { ...line, name: 'Other', extId: 'other', config })
  await made('POST', '/rest/roles', {
    name: 'OTHERS',
    permissions: [{ schema: "{{resource}} == 'threads'", read: "{{doc.channel}} == 'other'", write: '' }],
  })
  const { password } = system.garden
  const colleague = async (name: string, role: string, phone: string) => {
    const login = { email: `${name.toLowerCase()}@garden.example.com`, password }
    await made('POST', '/rest/users', { ...login, name: `${name} Lima`, phone, role })
    return login
  }
  bruno = await colleague('Bruno', 'MEMBER', '+5511999990002')
  otto = await colleague('Otto', 'OTHERS', '+5511999990003')
})

/** Somebody has written, and the team has the conversation. */
async function conversationWith(name: string, phone: string, extId = 'line'): Promise<string> {
  await writes(name, phone, 'Hello', extId)
  const thread = await eventually(async () => {
    const { json } = await call('GET', `/rest/threads?q=${name}`)
    return (json.data as { _id: string }[])[0]?._id
  })
  await made('PATCH', `/rest/threads/${thread}`, { handler: 'person' })
  return thread
}

const writes = (name: string, phone: string, input: string, extId = 'line') =>
  made('POST', '/api/hooks/whatsapp', {
    extId,
    user: { name, phone },
    thread: { extId: name },
    answer: {},
    input,
  })

const reply = (page: Page) => page.getByRole('textbox', { name: 'Your reply' })
const colleagues = (page: Page) => page.locator('.colleagues')

/** Somebody sees the tab, or does not. */
const see = (page: Page, isSeen: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, !isSeen)

describe('who else has a conversation open', () => {
  test('is seen in it, with who types a reply, until they send it and leave', async () => {
    const [alda, bela] = [
      await conversationWith('Alda', '5511988883001'),
      await conversationWith('Bela', '5511988883002'),
    ]
    await onPage({ bypassCSP: true }, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${alda}`, '.reply')
      await onPage({}, async (his) => {
        await signIn(his, system.url, bruno)
        await open(his, `/conversations/${alda}`, '.reply')
        await colleagues(page).getByText('Seen by: Bruno Lima').waitFor()
        await colleagues(his).getByText('Seen by: Ana Souza').waitFor()
        await his.getByRole('button', { name: 'Note', exact: true }).click()
        await his.keyboard.type('Nobody types this to Alda')
        await goInside(his, `/conversations/${bela}`, '.reply')
        await goInside(his, `/conversations/${alda}`, '.reply')
        await reply(his).pressSequentially('Dear Alda')
        await colleagues(page).getByText('Typing: Bruno Lima').waitFor()
        expect(await violations(page, 'a colleague who types')).toEqual([])
        await reply(his).press('Enter')
        await page.locator('.said.team', { hasText: 'Dear Alda' }).waitFor()
        await colleagues(page).getByText('Seen by: Bruno Lima').waitFor()
        expect(await colleagues(page).getByText('Typing').count()).toBe(0)
      })
      await colleagues(page).getByText('Bruno').waitFor({ state: 'detached' })
    })
  })

  test('is said every 10 s at most, and by no tab that nobody sees', async () => {
    const edna = await conversationWith('Edna', '5511988883005')
    await conversationWith('Fani', '5511988883006')
    await onPage({}, async (page) => {
      let asked = 0
      page.on('request', (request) => void (request.url().endsWith('/presence') && asked++))
      await page.clock.install()
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${edna}`, '.reply')
      await page.locator('.threads a', { hasText: 'Fani' }).waitFor()
      await eventually(() => asked === 1)
      await page.clock.pauseAt(new Date(Date.now() + 1_000))
      for (const name of ['Fani', 'Edna', 'Fani']) {
        await page.locator('.threads a', { hasText: name }).click()
        await eventually(async () => {
          await page.clock.runFor(50)
          return page.getByRole('heading', { name }).isVisible()
        })
      }
      expect(asked).toBe(1)
      await page.clock.runFor(60_000)
      await eventually(() => asked > 5)
      expect(asked).toBeLessThan(9)
      await see(page, false)
      const before = asked
      await page.clock.runFor(60_000)
      expect(asked).toBe(before)
      await see(page, true)
      await eventually(() => asked === before + 1)
    })
  })

  test('is said to nobody outside of the workspace, nor to whom the thread is not shown', async () => {
    const [ours, others] = [
      await conversationWith('Cora', '5511988883003'),
      await conversationWith('Dina', '5511988883004', 'other'),
    ]
    const rival = await register(system.url, 'rival')
    const { json } = await system.parley.call('POST', '/api/auth/login', {
      body: { username: otto.email, password: otto.password },
    })
    const ending = new AbortController()
    const follow = async (token: string) => {
      const seen: string[] = []
      const { promise, resolve } = Promise.withResolvers<void>()
      const client = createParley({ url: system.url, token })
      const read = async () => {
        for await (const { event, data } of client.events('/rest/events', {
          ...{ signal: ending.signal, onOpen: resolve },
        }))
          if (event === 'presence') seen.push(String((JSON.parse(data) as { thread: string }).thread))
      }
      void read().catch(() => undefined)
      await promise
      return seen
    }
    const [his, theirs, own] = await Promise.all(
      [String(json.accessToken), rival.token, system.garden.token].map(follow),
    )
    for (const thread of [ours, others, ours])
      expect(await made('POST', `/rest/threads/${thread}/presence`, { typing: true })).toEqual({
        shown: true,
      })
    await eventually(() => own?.length === 3 && his?.length === 1)
    ending.abort()
    expect([own, his, theirs]).toEqual([['Cora', 'Dina', 'Cora'], ['Dina'], []])
    const asOtto = await system.parley.call('POST', `/rest/threads/${ours}/presence`, {
      ...{ token: String(json.accessToken), body: {} },
    })
    expect(asOtto.status).toBe(404)
    const asRival = await system.parley.call('POST', `/rest/threads/${ours}/presence`, {
      ...{ token: rival.token, body: {} },
    })
    expect(asRival.status).toBe(404)
  })
})
