import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from '@jest/globals'
import { verifyWebhook } from '@parley/client/webhook'
import { eventually } from '@parley/local/testing/service-under-test'
import { consoleSystem, DESK, PHONE } from './console-system.ts'
import { register, signIn } from './pages.ts'

const BUNDLE_BYTES = 150 * 1024

const system = consoleSystem()
const { onPage, open } = system

describe('the console', () => {
  test('is where a browser that asks for / ends up, and programs get no page there', async () => {
    await onPage({}, async (page) => {
      await page.goto(system.url)
      expect(page.url()).toBe(`${system.url}/console`)
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
    })
    expect((await fetch(system.url, { headers: { accept: 'application/json' } })).status).toBe(404)
  })

  test('has less than 150 KB compressed, and nothing in it is inline', async () => {
    const html = await (await fetch(`${system.url}/console`)).text()
    expect(html).not.toMatch(/<script>|<style| style=| on\w+=/)
    const files = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path ?? '')
    // The icon, the style sheet, and the script with what it needs to begin.
    expect(files.length).toBeGreaterThanOrEqual(3)
    const headers = { 'accept-encoding': 'gzip' }
    const responses = await Promise.all(files.map((path) => fetch(system.url + path, { headers })))
    const bytes = responses.map((response) => Number(response.headers.get('content-length')))
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(BUNDLE_BYTES)
  })
})

describe.each([
  ['360 px', PHONE],
  ['1,440 px', DESK],
])('at %s', (name, viewport) => {
  test('somebody registers, connects a channel, sees its message die, mends the channel, and replays the message', async () => {
    await onPage({ viewport }, async (page) => {
      await page.goto(`${system.url}/console`)
      await page.getByRole('link', { name: 'Create a workspace' }).click()
      await page.getByLabel('Your name').fill('Rui Costa')
      await page.getByLabel('Email').fill(`rui@${viewport.width}.example.com`)
      await page.getByLabel('Phone').fill('+351900000000')
      await page.getByLabel('Workspace').fill(`shop ${viewport.width}`)
      await page.getByLabel('Password').fill('correct horse battery staple')
      await page.getByRole('button', { name: 'Create a workspace' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()

      await page.getByRole('link', { name: 'Connect a channel' }).click()
      await page.getByLabel('Name').fill('Shop line')
      await page.getByLabel('External id').fill('shop-line')
      await page.getByLabel('Phone number id').fill(`2${viewport.width}`)
      await page.getByLabel('Access token').fill('expired')
      await page.getByLabel('API address').fill(`${system.parley.system.simulatorUrl}/v23.0`)
      await page.getByRole('button', { name: 'Create the channel' }).click()
      await page.getByText('waiting for Meta').waitFor()
      await page.getByLabel('Phone').fill('+5511988887777')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('status').getByText('dead').waitFor()

      await page.getByRole('link', { name: 'Go to the channel' }).click()
      await page.getByRole('button', { name: 'Replace the access token' }).click()
      await page.getByLabel('New access token').fill('a token that works')
      await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
      await page.getByText('Access token is replaced.').waitFor()
      await page.getByRole('link', { name: 'Messages', exact: true }).last().click()
      await page.locator('tbody a').first().click()
      await page.getByText('The channel: its configuration').waitFor()
      // The dispatcher hears of the channel's change a moment later, so one more try may be needed.
      await eventually(
        async () => {
          const replay = page.getByRole('button', { name: 'Replay' })
          if (await replay.isVisible()) await replay.click({ timeout: 1_000 }).catch(() => undefined)
          return (await page.locator('.line .badge', { hasText: /^(sent|delivered|read)$/ }).count()) > 0
            ? true
            : undefined
        },
        { timeoutMs: 60_000 },
      )
      expect(name).toContain('px')
    })
    const sends = await system.parley.sends(`2${viewport.width}`)
    expect(sends.map(({ text }) => text)).toEqual(['Hello from Parley'])
  })

  test('a person writes to an assistant, the team takes over and replies, and gives back', async () => {
    const { token, extId, phoneNumberId } = await connectedShop(viewport.width)
    const say = (input: string) => {
      const user = { name: 'Joana Prado', phone: '+5511988887777' }
      const body = { extId, user, thread: { extId: 'joana' }, answer: {}, input }
      return system.parley.call('POST', '/api/hooks/whatsapp', { body, token })
    }
    await onPage({ viewport }, async (page) => {
      await signIn(page, system.url, shopAccount(viewport.width))
      await open(page, '/assistants/assistant/new', 'form')
      await page.getByLabel('Name').fill('Bia')
      await page.getByLabel('Description').fill('Answers the customers')
      await page.getByLabel('Backstory').fill('You are friendly and brief.')
      await page.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('textbox', { name: 'A message to Bia' }).fill('Good morning')
      await page.keyboard.press('Enter')
      await page.getByText('You said: Good morning').waitFor()
      await page.getByRole('button', { name: 'Show the prompt' }).click()
      await page.locator('.prompt', { hasText: 'You are friendly and brief.' }).waitFor()

      await say('Where is my order?')
      await open(page, '/conversations', '.threads a')
      await page.locator('.threads a', { hasText: 'Joana Prado' }).click()
      const talk = page.getByRole('log', { name: 'What was said' })
      await talk.getByText('You said: Where is my order?').waitFor()
      expect(await page.getByRole('textbox', { name: 'Your reply' }).count()).toBe(0)

      await page.getByRole('button', { name: 'Take over' }).click()
      const reply = page.getByRole('textbox', { name: 'Your reply' })
      await reply.waitFor()
      await say('Is anybody there?')
      await talk.getByText('Is anybody there?').waitFor()
      await reply.fill('This is **Rui**, I am.')
      const sentAs = page.locator('.preview', { hasText: 'This is Rui, I am.' })
      expect(await sentAs.locator('strong').textContent()).toBe('Rui')
      await reply.press('Enter')
      const own = talk.locator('.said.team', { hasText: 'This is Rui, I am.' })
      await own.getByText(/^(sent|delivered|read)$/).waitFor()
      await page.getByRole('button', { name: 'Template', exact: true }).click()
      await page.getByLabel('Template').fill('order_update')
      await page.getByLabel('Language').fill('en_US')
      await page.getByLabel('Variables').fill('Joana\n4711')
      await page.locator('.preview', { hasText: 'Template order_update' }).waitFor()
      await page.getByRole('button', { name: 'Send' }).click()
      // Once the channel's templates are known, it is shown as the person reads it.
      await talk
        .locator('.said.team', { hasText: /order[_ ]update/ })
        .getByText(/^(sent|delivered|read)$/)
        .waitFor()
      // The language is as it was.
      await page.getByLabel('Template').fill('invoice_named')
      expect(await page.getByLabel('Language').inputValue()).toBe('en_US')
      await page.getByLabel('Variables').fill('customer_name = Joana')
      await page.locator('.preview', { hasText: '{{customer_name}} Joana' }).waitFor()
      await page.getByRole('button', { name: 'Send' }).click()
      await talk
        .locator('.said.team', { hasText: /invoice[_ ]named/ })
        .getByText(/^(sent|delivered|read)$/)
        .waitFor()
      await page.getByRole('button', { name: 'Media' }).click()
      await page.getByLabel('Address').fill('https://example.com/fern.jpg')
      await page.getByLabel('Caption').fill('Like *this*')
      const preview = page.locator('.preview', { hasText: 'https://example.com/fern.jpg' })
      expect(await preview.locator('strong').textContent()).toBe('this')

      await page.getByRole('button', { name: 'Give back' }).click()
      await page.getByRole('button', { name: 'Take over' }).waitFor()
      await own.getByRole('link').click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    })
    const sends = await system.parley.sends(phoneNumberId)
    expect(sends.map(({ text, template }) => text ?? template)).toEqual([
      'You said: Where is my order?',
      'This is *Rui*, I am.',
      'order_update',
      'invoice_named',
    ])
  })
})

describe('events', () => {
  test('are sent to a new subscription, whose secret is shown once, and are sent again under the same id', async () => {
    const receiver = await startReceiver()
    try {
      await onPage({}, async (page) => {
        await signIn(page, system.url, system.garden)
        await open(page, '/events/new', 'fieldset')
        await page.getByLabel('Name').fill('Ours')
        await page.getByLabel('Address').fill(receiver.url)
        await page.getByRole('button', { name: 'Create' }).click()
        const secret = (await page.locator('.paste code').textContent()) ?? ''
        await page.getByRole('link', { name: 'Go to the subscription' }).click()
        await page.getByRole('button', { name: 'Send a test event' }).click()
        const row = page.locator('tbody tr', { hasText: 'subscription.test' })
        await row.getByText('delivered').waitFor()
        expect(await page.locator('body').innerHTML()).not.toContain(secret)
        await row.getByRole('button').click()
        await page.getByText('Payload').click()
        await page.getByRole('dialog').getByText('"subscription.test"').waitFor()
        await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
        const received = await eventually(async () => (receiver.got.length > 1 ? receiver.got : undefined))
        expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id'])
        for (const { headers, body } of received)
          expect(verifyWebhook(headers, body, secret)).toMatchObject({ type: 'subscription.test' })
      })
    } finally {
      await receiver.close()
    }
  })
})

const shopAccount = (width: number) => ({
  email: `ana@store${width}.example.com`,
  password: 'correct horse battery staple',
})

/** A workspace with a channel that the first assistant answers. */
async function connectedShop(width: number) {
  const { token } = await register(system.url, `store${width}`)
  const [extId, phoneNumberId] = ['store-line', `3${width}`]
  const config = {
    ...{
      phoneNumberId,
      accessToken: 'secret',
      apiUrl: `${system.parley.system.simulatorUrl}/v23.0`,
      assistantId: 1,
    },
  }
  const body = {
    ...{ name: 'Store', description: '', extId, hook: 'whatsapp', callback: 'whatsapp', config },
    handlerUrl: 'native:agents/chat',
  }
  expect((await system.parley.call('PUT', '/rest/channels/1', { body, token })).status).toBe(200)
  return { token, extId, phoneNumberId }
}

interface Receiver {
  url: string
  got: { headers: IncomingHttpHeaders; body: string }[]
  close(): Promise<void>
}

/** An endpoint that takes every event. */
async function startReceiver(): Promise<Receiver> {
  const got: Receiver['got'] = []
  const server = createServer(async (req, res) => {
    got.push({ headers: req.headers, body: await text(req) })
    res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    got,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
