import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { countNotices, hearNotices } from './busy-inbox.ts'
import { consoleSystem } from './console-system.ts'
import { register, signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system

test('somebody changes their own name and password, and the sessions that are elsewhere end', async () => {
  const shop = await register(system.url, 'atelier')
  const other = await system.parley.call('POST', '/api/auth/login', {
    body: { username: shop.email, password: shop.password },
  })
  const token = String(other.json.accessToken)
  await onPage({}, async (page) => {
    await signIn(page, system.url, shop)
    await page.getByRole('link', { name: 'Ana Souza' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Ana Prado')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Ana Prado' }).waitFor()

    const sessions = page.locator('.card', { has: page.getByRole('heading', { name: 'Sessions' }) })
    await sessions.getByText('this one').waitFor()
    expect(await sessions.getByText(/^Chrome on /).count()).toBe(1)
    await sessions
      .getByRole('button', { name: /^End the session/ })
      .first()
      .click()
    await page.getByText('The session has ended.').waitFor()

    await page.getByLabel('Current password').fill(shop.password)
    await page.getByLabel('New password').fill('another horse battery')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password is changed').waitFor()
    await eventually(
      async () => (await system.parley.call('POST', '/api/auth/me', { body: {}, token })).status === 401,
    )
    expect(await page.getByLabel('Current password').inputValue()).toBe('')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await signIn(page, system.url, { ...shop, password: 'another horse battery' })
  })
})

/** A workspace with a conversation that the team has, and what says something in it. */
async function shopWithConversation(namespace: string, phoneNumberId: string) {
  const shop = await register(system.url, namespace)
  const call = (method: string, path: string, body?: object) =>
    system.parley.call(method, path, { token: shop.token, ...(body && { body }) })
  const { simulatorUrl } = system.parley.system
  const config = { phoneNumberId, accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` }
  const line = { name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' }
  await call('PUT', '/rest/channels/1', { ...line, handlerUrl: 'native:agents/echo', config })
  const say = async (input: string) => {
    const user = { name: 'Inês', phone: '5511988880009' }
    const body = { extId: 'line', user, thread: { extId: 'ines' }, answer: {}, input }
    expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
  }
  await say('Hello')
  const thread = await eventually(
    async () => ((await call('GET', '/rest/threads')).json.data as { _id: string }[])[0]?._id,
  )
  expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'person' })).status).toBe(200)
  return { shop, thread, say, call }
}

test('what people write to the team is reported once over all tabs, and not to who looks at it', async () => {
  const { shop, thread, say, call } = await shopWithConversation('florista', '7001')
  const read = async () => (await call('GET', `/rest/threads/${thread}`)).json
  await onPage({}, async (page, context) => {
    const raised: string[] = []
    await hearNotices(context, (title, text) => raised.push(`${title}: ${text}`))
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    await page.getByLabel('On the desktop').click()
    await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
    const others = [await context.newPage(), await context.newPage()]
    for (const other of others) {
      await other.goto(`${system.url}/console/messages`)
      await other.waitForSelector('tbody tr')
    }
    await say('Is anybody there?')
    for (const tab of [page, ...others]) {
      await tab.waitForFunction(() => document.title.startsWith('(1) '))
      await tab.waitForFunction(() => {
        const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
        return icon?.getAttribute('href') === icon?.dataset.unread
      })
      await tab.getByRole('link', { name: 'Conversations 1 unread' }).waitFor()
    }
    await eventually(async () => raised.length > 0)
    expect(raised).toEqual(['Inês: Is anybody there?'])

    await page.bringToFront()
    await open(page, `/conversations/${thread}`, '.reply')
    for (const tab of [page, ...others]) await tab.waitForFunction(() => !document.title.startsWith('('))
    const { lastUnreadAt } = await read()
    await say('Then I come tomorrow.')
    await page.locator('.said.theirs', { hasText: 'Then I come tomorrow.' }).waitFor()
    // It counts as unread a little later than it is shown, and is read then.
    await eventually(async () => {
      const now = await read()
      return now.lastUnreadAt !== lastUnreadAt && now.unread === 0
    })
    await page.getByRole('link', { name: 'Messages', exact: true }).last().click()
    await page.waitForSelector('tbody tr')
    await say('Or today?')
    await eventually(async () => raised.length > 1)
    expect(raised).toEqual(['Inês: Is anybody there?', 'Inês: Or today?'])

    // Only of what the account wants to be told of.
    await open(page, '/account', '.rows')
    await page.getByLabel('What people write to the team').click()
    await page.getByRole('checkbox', { name: 'What people write to the team', checked: false }).waitFor()
    const [list = page] = others
    await list.goto(`${system.url}/console/conversations`)
    await say('Nobody is told of this')
    await list.locator('.threads').getByText('Nobody is told of this').waitFor()
    await list.locator('.threads .unread', { hasText: /^2/ }).waitFor()
    await page.getByLabel('What people write to the team').click()
    await page.getByRole('checkbox', { name: 'What people write to the team', checked: true }).waitFor()
    await say('Of this they are')
    await eventually(async () => raised.length > 2)
    expect(raised.slice(2)).toEqual(['Inês: Of this they are'])
  })

  // Of another browser, which has not allowed any yet.
  await onPage({}, async (page) => {
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    expect(await page.getByLabel('On the desktop').isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Allow it' }).waitFor()
  })
})

test('a sound is made once over all tabs for what people write, and what is assigned is told as such', async () => {
  const { shop, thread, say, call } = await shopWithConversation('padaria', '7003')
  const user = { name: 'Bruno', email: 'bruno@padaria.example.com', phone: '+5511999990002' }
  const { json: bruno } = await call('POST', '/rest/users', {
    ...{ ...user, password: shop.password, role: 'MEMBER' },
  })
  await onPage({}, async (page, context) => {
    const raised: string[] = []
    let tones = 0
    await hearNotices(context, (title, text) => raised.push(`${title}: ${text}`))
    await context.exposeFunction('sounded', () => tones++)
    await context.addInitScript(() => {
      const { sounded } = globalThis as unknown as { sounded(): void }
      const { start } = AudioScheduledSourceNode.prototype
      AudioScheduledSourceNode.prototype.start = function (...times) {
        sounded()
        start.apply(this, times)
      }
    })
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    await page.getByLabel('A sound').click()
    await page.getByRole('checkbox', { name: 'A sound', checked: true }).waitFor()
    // It is heard when it is switched on: a ring has two tones.
    await eventually(() => tones === 2)
    const other = await context.newPage()
    await open(other, '/messages', 'tbody tr')
    await say('Is the bread ready?')
    await other.waitForFunction(() => document.title.startsWith('(1) '))
    await eventually(() => tones === 4)
    await page.getByLabel('On the desktop').click()
    await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()

    // With that chosen, messages for others are not told.
    await page.getByLabel('Nothing of what is assigned to others').click()
    await page
      .getByRole('checkbox', { name: 'Nothing of what is assigned to others', checked: true })
      .waitFor()
    expect((await call('PATCH', `/rest/threads/${thread}`, { assignee: bruno._id })).status).toBe(200)
    await say('Hello?')
    await other.waitForFunction(() => document.title.startsWith('(1) '))
    await open(other, '/conversations', '.threads a')
    await other.locator('.threads .unread', { hasText: /^2/ }).waitFor()
    const asBruno = await system.parley.call('POST', '/api/auth/login', {
      body: { username: user.email, password: shop.password },
    })
    const { json: own } = await call('POST', '/api/auth/me', {})
    const assigned = await system.parley.call('PATCH', `/rest/threads/${thread}`, {
      ...{ token: String(asBruno.json.accessToken), body: { assignee: own._id } },
    })
    expect(assigned.status).toBe(200)
    await eventually(() => raised.length > 0)
    expect(raised).toEqual(['Inês: Assigned to you. Hello?'])
    await eventually(() => tones === 6)
    await say('Thank you')
    await eventually(() => raised.length > 1)
    expect(raised.slice(1)).toEqual(['Inês: Thank you'])
    expect(tones).toBe(8)
  })
})

test('all sessions but one’s own end at once', async () => {
  const shop = await register(system.url, 'mercado')
  const login = () =>
    system.parley.call('POST', '/api/auth/login', { body: { username: shop.email, password: shop.password } })
  const tokens = [await login(), await login()].map(({ json }) => String(json.accessToken))
  await onPage({}, async (page) => {
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    await page.getByRole('button', { name: 'End all others' }).click()
    await page.getByText('All other sessions have ended.').waitFor()
    await page.getByRole('button', { name: 'End all others' }).waitFor({ state: 'detached' })
    await page.getByText('this one').waitFor()
    for (const token of [...tokens, shop.token])
      await eventually(
        async () => (await system.parley.call('POST', '/api/auth/me', { body: {}, token })).status === 401,
      )
    await page.reload()
    await page.getByText('this one').waitFor()
  })
})

test('what a tab did not come to report, or the stream did not say, is reported once by another', async () => {
  const { shop, thread, say, call } = await shopWithConversation('livraria', '7002')
  await onPage({}, async (page, context) => {
    const { from, texts } = await countNotices(context)
    const reported = () => from.get('Inês') ?? 0
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    await page.getByLabel('On the desktop').click()
    await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
    const openTab = async () => {
      const tab = await context.newPage()
      await open(tab, '/messages', 'tbody tr')
      return tab
    }
    const [second, third] = [await openTab(), await openTab()]
    // Its timers stand still, so that it does not come to what it is about to do.
    await page.evaluate(() => Object.assign(globalThis, { setTimeout: () => 0 }))
    await say('Is anybody there?')
    for (const tab of [second, third]) await tab.waitForFunction(() => document.title.startsWith('(1) '))
    expect(reported()).toBe(0)
    await page.close()
    await eventually(() => reported() === 1)

    // Neither is there a stream when somebody writes, nor does it go on from before that.
    await context.route('**/rest/events', (route) => route.abort())
    await second.close()
    await say('Hello?')
    await say('Anybody?')
    await eventually(async () => (await call('GET', `/rest/threads/${thread}`)).json.unread === 3)
    await context.unroute('**/rest/events')
    await context.route('**/rest/events', (route) => {
      const { 'last-event-id': _last, ...headers } = route.request().headers()
      return route.continue({ headers })
    })
    await eventually(() => reported() === 3)
    await say('Then tomorrow.')
    await eventually(() => reported() >= 4)
    expect(Object.fromEntries(texts)).toMatchObject({
      'Is anybody there?': 1,
      'Anybody?': 1,
      'Then tomorrow.': 1,
    })
    expect(reported()).toBe(4)
  })
})

test('what was not reported before all tabs were loaded anew is reported once, by one that has found it unread', async () => {
  const { shop, say } = await shopWithConversation('mercearia', '7004')
  await onPage({}, async (page, context) => {
    const { from, texts } = await countNotices(context)
    await signIn(page, system.url, shop)
    await open(page, '/account', '.rows')
    await page.getByLabel('On the desktop').click()
    await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
    const other = await context.newPage()
    await open(other, '/messages', 'tbody tr')
    await page.evaluate(() => Object.assign(globalThis, { setTimeout: () => 0 }))
    await say('Is anybody there?')
    for (const tab of [other, page]) {
      await other.waitForFunction(() => document.title.startsWith('(1) '))
      expect(from.get('Inês')).toBeUndefined()
      await tab.reload()
    }
    await eventually(() => from.get('Inês') === 1)
    await say('Hello?')
    await eventually(() => (from.get('Inês') ?? 0) > 1)
    expect(Object.fromEntries(texts)).toEqual({ 'Is anybody there?': 1, 'Hello?': 1 })
  })
})
