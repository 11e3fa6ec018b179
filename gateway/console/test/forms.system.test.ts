import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const CHANNEL = {
  ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
  handlerUrl: 'native:agents/echo',
}

const system = consoleSystem({
  async prepare({ parley, garden: { token } }) {
    const apiUrl = `${parley.system.simulatorUrl}/v23.0`
    const config = { phoneNumberId: '6001', accessToken: 'secret', apiUrl }
    for (const [path, body] of [
      ['/rest/channels/1', { ...CHANNEL, config }],
      ['/rest/jobs/3', { role: 'Guide', goal: 'Onboard', description: '' }],
      ['/rest/assistant/3', { name: 'Bia', description: '', backstory: 'Friendly.', job: 3 }],
    ] as const)
      expect((await parley.call('PUT', path, { body, token })).status).toBe(200)
  },
})
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })

/** Has the POSTs to a path wait until `release` is called, and collects them. */
async function delayPosts(page: Page, path: string, { status = 0 } = {}) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const bodies: unknown[] = []
  await page.route(path, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    bodies.push(route.request().postDataJSON())
    await promise
    return status === 0 ? route.continue() : route.fulfill({ status, json: { title: 'Unavailable', status } })
  })
  return { bodies, release: resolve }
}

/** As somebody does to whom it seems that nothing happens. */
async function submitRepeatedly(page: Page, button: string, field: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).dblclick()
  await page.getByLabel(field, { exact: true }).press('Enter')
}

describe('a form that is submitted again while it is under way is sent once', () => {
  test('where it makes a channel, and where it sends the test message of one', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/new', 'form')
      await page.getByLabel('Name').fill('Wizard')
      await page.getByLabel('External id').fill('wizard')
      await page.getByLabel('Phone number id').fill('6002')
      await page.getByLabel('Access token').fill('secret')
      await page.getByLabel('API address').fill(`${system.parley.system.simulatorUrl}/v23.0`)
      const channels = await delayPosts(page, '**/rest/channels')
      await submitRepeatedly(page, 'Create the channel', 'Name')
      channels.release()
      await page.getByText('waiting for Meta').waitFor()
      expect(channels.bodies).toHaveLength(1)

      await page.getByLabel('Phone').fill('+5511988887777')
      const messages = await delayPosts(page, '**/rest/messages')
      await submitRepeatedly(page, 'Send', 'Phone')
      messages.release()
      await page.getByRole('link', { name: 'The test message' }).waitFor()
      expect(messages.bodies).toHaveLength(1)

      await page.route('**/rest/messages', async (route) => {
        if (route.request().method() !== 'POST') return route.fallback()
        await route.fetch()
        await route.abort()
      })
      const send = async () => {
        const sent = page.waitForRequest(
          (request) => request.method() === 'POST' && request.url().endsWith('/rest/messages'),
        )
        await page.getByRole('button', { name: 'Send' }).click()
        return (await sent).headers()['idempotency-key']
      }
      const key = await send()
      await page.locator('form .failure').waitFor()
      await page.unroute('**/rest/messages')
      expect(await send()).toBe(key)
      await page.locator('form .failure').waitFor({ state: 'detached' })
    })
  })

  test('where it makes an API token', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      const named = page.waitForResponse((response) => response.url().includes('/rest/roles'))
      await open(page, '/team/tokens', '.empty, tbody tr')
      await named
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByLabel('Name').fill('A program')
      await page.getByLabel('Your password').fill(system.garden.password)
      const tokens = await delayPosts(page, '**/api/auth/tokens')
      await submitRepeatedly(page, 'Make the token', 'Name')
      tokens.release()
      await page.getByText('Store it now').waitFor()
      expect(tokens.bodies).toHaveLength(1)
    })
  })

  test('where it invites somebody', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      const named = page.waitForResponse((response) => response.url().includes('/rest/roles'))
      await open(page, '/team', 'tbody tr')
      await named
      await page.getByRole('button', { name: 'Invite somebody' }).click()
      await page.getByLabel('Email').fill('rui@example.com')
      const invitations = await delayPosts(page, '**/rest/invitations')
      await submitRepeatedly(page, 'Invite', 'Email')
      invitations.release()
      await page.getByText('It is shown once').waitFor()
      const roles = (await call('GET', '/rest/roles')).json.data as { _id: number; name: string }[]
      const role = roles.find(({ name }) => name === 'MEMBER')?._id
      expect(invitations.bodies).toEqual([{ email: 'rui@example.com', role }])
    })
  })
})

describe('what is typed stays', () => {
  const replaceToken = async (page: Page, token: string) => {
    await page.getByRole('button', { name: 'Replace the access token' }).click()
    await page.getByLabel('New access token').fill(token)
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    await page.getByText('Access token is replaced.').waitFor()
  }
  const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click()
  const channel = async () => (await call('GET', '/rest/channels/1')).json

  test('where a secret of the same channel is replaced, and is saved with it', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      const handler = page.getByLabel('Handler URL')
      const config = page.getByLabel('Config', { exact: true })
      await handler.fill('https://handler.example.com/')
      const typed = JSON.parse(await config.inputValue()) as object
      await config.fill(JSON.stringify({ ...typed, typing: false }))
      await replaceToken(page, 'the next token')
      expect(await handler.inputValue()).toBe('https://handler.example.com/')
      await save(page)
      await page.getByText('Saved.').waitFor()
      expect(await channel()).toMatchObject({
        handlerUrl: 'https://handler.example.com/',
        config: { accessToken: 'the next token', typing: false, phoneNumberId: '6001' },
      })
    })
  })

  test('where somebody else changed the document, which is not overwritten after a secret was replaced', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      await page.getByLabel('Name', { exact: true }).fill('Mine')
      expect((await call('PATCH', '/rest/channels/1', { name: 'Theirs' })).status).toBe(200)
      await page.getByRole('button', { name: 'Replace the access token' }).click()
      await page.getByLabel('New access token').fill('a later token')
      const replace = page.getByRole('dialog').getByRole('button', { name: 'Replace' })
      await replace.click()
      await page.getByRole('dialog').getByText('This was changed since it was loaded here').waitFor()
      await eventually(async () => {
        const response = page.waitForResponse((one) => one.request().method() === 'PATCH')
        await replace.click()
        return (await response).status() === 200
      })
      await save(page)
      await page.getByText('This was changed since it was loaded here').waitFor()
      expect(await channel()).toMatchObject({ name: 'Theirs', config: { accessToken: 'a later token' } })
    })
  })

  test('where it is typed while the document is saved', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      const { promise, resolve } = Promise.withResolvers<void>()
      await page.route('**/rest/channels/1', async (route) => {
        if (route.request().method() === 'PUT') await promise
        await route.continue()
      })
      const description = page.getByLabel('Description')
      await page.getByLabel('Name', { exact: true }).fill('Saved')
      await save(page)
      await description.fill('Typed meanwhile')
      resolve()
      await page.getByText('Saved.').waitFor()
      await page.getByRole('heading', { name: 'Saved' }).waitFor()
      expect(await description.inputValue()).toBe('Typed meanwhile')
      await save(page)
      await eventually(async () => (await channel()).description === 'Typed meanwhile')
    })
  })

  test('where a reply is under way', async () => {
    const body = { extId: 'line', user: { phone: '5511988881111' }, thread: { extId: 'typing' }, answer: {} }
    await call('POST', '/api/hooks/whatsapp', { ...body, input: 'Hello' })
    const thread = await eventually(async () => {
      const { json } = await call('GET', '/rest/threads?q=5511988881111')
      return (json.data as { _id: string }[])[0]?._id
    })
    expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'person' })).status).toBe(200)
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${thread}`, '.reply')
      const reply = page.getByRole('textbox', { name: 'Your reply' })
      const replies = await delayPosts(page, `**/rest/threads/${thread}/messages`)
      await reply.fill('first')
      await reply.press('Enter')
      await eventually(async () => replies.bodies.length > 0)
      await reply.fill('second')
      await reply.press('Enter')
      replies.release()
      await page.locator('.said.team', { hasText: 'first' }).waitFor()
      await page.getByRole('button', { name: 'Send', exact: true }).click({ trial: true })
      expect(await reply.inputValue()).toBe('second')
      expect(replies.bodies).toEqual([{ text: 'first' }])
    })
  })

  test('where a trial fails, after what was sent', async () => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/assistants/assistant/3', 'form')
      const message = page.getByRole('textbox', { name: 'A message to Bia' })
      const trials = await delayPosts(page, '**/rest/assistant/3/try', { status: 503 })
      await message.fill('first')
      await message.press('Enter')
      await page.getByText('Bia is at it').waitFor()
      await message.fill('second')
      trials.release()
      await page.locator('.failure').waitFor()
      expect(await message.inputValue()).toBe('first\nsecond')
    })
  })
})

test('JSON is checked as it is typed, a setting that is known is added by its name, and what is no JSON is not saved', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/assistants/configs/new', 'form')
    await page.getByLabel('Name', { exact: true }).fill('model')
    await page.getByLabel('Owner', { exact: true }).fill('3')
    await page.getByLabel('Owner type').fill('assistant')
    const value = page.getByRole('textbox', { name: 'Value' })
    const add = async (name: string, typed: string) => {
      await page.getByLabel('What can be set in Value').selectOption(name)
      await page.getByRole('button', { name: 'Add to Value' }).click()
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      await page.keyboard.insertText(typed)
    }
    await add('provider', '"opanai"')
    await page.getByText('provider has to be one of openai').waitFor()
    await value.fill('{ "provider": "openai", "modle": "x" }')
    await page.getByText('Nothing reads modle. Is model meant?').waitFor()
    await value.fill('{ "provider": "openai" "model": "x" }')
    await page.getByText('Line 1, column 24: a comma is missing.').waitFor()
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('Value is not JSON. Line 1, column 24: a comma is missing.').waitFor()
    expect((await call('GET', '/rest/configs')).json.data).toEqual([])

    await value.fill('{ "provider": "openai" }')
    await add('model', '"gpt-5"')
    await add('temperature', '0.3')
    expect(await page.locator('.field-error').count()).toBe(0)
    await page.getByRole('button', { name: 'Create' }).click()
    const made = { provider: 'openai', model: 'gpt-5', temperature: 0.3 }
    await eventually(async () => {
      const { json } = await call('GET', '/rest/configs')
      return (json.data as { value: object }[])[0]?.value
    }).then((saved) => expect(saved).toEqual(made))
  })
})

test('a form offers the settings of a channel’s provider with what they are, and has no field for what the service sets', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/channels/1', 'form')
    await page.getByLabel('What can be set in Config').selectOption('businessAccountId')
    await page.getByText('Business account id: Of the WhatsApp business account').waitFor()
    const config = page.getByLabel('Config', { exact: true })
    await config.fill('{ "bussinessAccountId": "x" }')
    await page.getByText('Nothing reads bussinessAccountId. Is businessAccountId meant?').waitFor()
    expect(await page.getByText('Ignored').count()).toBe(0)
  })
})

test('a logout that the gateway does not get leaves somebody signed in, and says so', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.route('**/api/auth/logout', (route) => route.abort())
    const leave = page.getByRole('button', { name: 'Log out' })
    await leave.click()
    await page.getByText('You are still signed in').waitFor()
    expect(await page.getByRole('heading', { name: 'Log in' }).count()).toBe(0)
    await page.unroute('**/api/auth/logout')
    await leave.click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
  })
})

test.each(['a/b', '..'])(
  'a message leads to the others of a thread that no path can name: %s',
  async (extId) => {
    const body = { extId: 'line', user: { phone: '5511988882222' }, thread: { extId }, answer: {} }
    expect((await call('POST', '/api/hooks/whatsapp', { ...body, input: 'Hello' })).status).toBe(200)
    const path = `/rest/messages?thread=${encodeURIComponent(extId)}`
    const message = await eventually(
      async () => ((await call('GET', path)).json.data as { _id: string }[])[0]?._id,
    )
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, `/messages/${message}`, '.facts')
      await page.locator('.facts').getByRole('link', { name: extId, exact: true }).click()
      await page.locator('tbody tr, .failure').first().waitFor()
      expect(await page.locator('.failure').count()).toBe(0)
      expect(await page.locator('tbody tr', { hasText: extId }).count()).toBe(1)
    })
  },
)
