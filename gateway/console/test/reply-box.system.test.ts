import { beforeAll, describe, expect, test } from '@jest/globals'
import { gatewayClient } from '@parley/local/demo/gateway-client'
import {
  configOf,
  registerWebhook,
  setTemplateState,
  simulatedNumber,
  writeAsPerson,
} from '@parley/local/simulator/client'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { violations } from './axe.ts'
import { consoleSystem, PHONE } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const ACCOUNT = '102290129340398'
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const ADDRESS = 'phone:5511988880001'

const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })
async function made(method: string, path: string, body: object) {
  const { status, json } = await call(method, path, body)
  if (status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`)
  return json
}

/** The conversation with Carla, which the team has. */
let carla: string
let number: ReturnType<typeof simulatedNumber>

beforeAll(async () => {
  number = simulatedNumber(system.parley.system.simulatorUrl, '6101')
  await made('PUT', '/rest/channels/1', {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo', config: { ...configOf(number), businessAccountId: ACCOUNT } },
  })
  const url = gatewayClient(system.url, system.garden).providerUrl('line')
  await registerWebhook(number, url)
  for (const [name, language, text] of TEMPLATES) {
    await made('POST', '/rest/templates', {
      ...{ channel: 1, name, language, category: 'UTILITY' },
      components: [
        {
          type: 'BODY',
          text,
          example: { body_text: [['Ana', '4711'].slice(0, text.split('{{').length - 1)] },
        },
        { type: 'FOOTER', text: 'The Garden' },
        {
          type: 'BUTTONS',
          buttons: [{ type: 'URL', text: 'Track', url: 'https://example.com/{{1}}', example: ['1'] }],
        },
      ],
    })
    await setTemplateState(number, { name, status: 'APPROVED' })
  }
  await made('POST', '/rest/templates/sync', {})
  await writeAsPerson(number, { from: '5511988880001', name: 'Carla', text: 'Where is my order?' })
  carla = await eventually(async () => {
    const { json } = await call('GET', '/rest/threads?q=Carla')
    return (json.data as { _id: string }[])[0]?._id
  })
  await made('PATCH', `/rest/threads/${carla}`, { handler: 'person' })
  await made('PUT', '/rest/people/attributes', { attributes: [{ name: 'city', type: 'text' }] })
  const known = {
    language: 'pt_BR',
    timeZone: 'America/Sao_Paulo',
    tags: ['vip'],
    attributes: { city: 'Santos' },
  }
  await made('POST', '/rest/people', { addresses: [ADDRESS], ...known })
  await made('PATCH', `/rest/people/${ADDRESS}`, { consent: { marketing: { status: 'withdrawn' } } })
})

const TEMPLATES = [
  ['parcel_sent', 'en_US', 'Hi {{1}}, your order {{2}} is on its way.'],
  ['parcel_sent', 'pt_BR', 'Olá {{1}}, seu pedido {{2}} está a caminho.'],
  ['parcel_late', 'en_US', 'Hi {{1}}, it is late.'],
] as const

interface Sent {
  type: string
  text?: string
  template?: string
  language?: string
  variables?: string[]
  quoted?: string
  content?: { caption?: string; filename?: string; id?: string; emoji?: string }
}

async function sends(): Promise<Sent[]> {
  const response = await fetch(`${number.simulatorUrl}/simulator/sends?phoneNumberId=${number.phoneNumberId}`)
  return ((await response.json()) as { data: Sent[] }).data
}
const sent = (isIt: (one: Sent) => boolean) => eventually(async () => (await sends()).find(isIt))

const reply = (page: Page) => page.getByRole('textbox', { name: 'Your reply' })
const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true })
const files = (page: Page) => page.getByRole('list', { name: 'Files of this reply' })

async function inConversation(page: Page): Promise<void> {
  await signIn(page, system.url, system.garden)
  await open(page, `/conversations/${carla}`, '.reply')
}

/** For axe, which the policy of the pages keeps out. */
const WITH_AXE = { bypassCSP: true }

describe('a template', () => {
  test('is chosen from those of the channel, in the person’s language, filled in and seen before it is sent', async () => {
    await onPage({}, async (page) => {
      await inConversation(page)
      await page.getByRole('button', { name: 'Template', exact: true }).click()
      await page.getByRole('button', { name: /parcel_sent/ }).click()
      const preview = page.locator('.preview .bubble')
      await preview.getByText('Olá {{1}}, seu pedido {{2}} está a caminho.').waitFor()
      expect(await send(page).isDisabled()).toBe(true)
      await page.getByLabel('{{1}}', { exact: true }).fill('Carla')
      await page.getByLabel('{{2}}', { exact: true }).fill('4720')
      await page.getByLabel('End of the address of “Track”').fill('4720')
      await preview.getByText('Olá Carla, seu pedido 4720 está a caminho.').waitFor()
      await preview.getByText('https://example.com/4720').waitFor()
      await send(page).click()
      await page.locator('.said.team .bubble', { hasText: 'Olá Carla, seu pedido 4720' }).waitFor()
      const { language, variables } = await sent(({ template }) => template === 'parcel_sent')
      expect({ language, variables }).toEqual({ language: 'pt_BR', variables: ['Carla', '4720'] })
    })
  })

  test('is sent in another language where that is chosen', async () => {
    await onPage({}, async (page) => {
      await inConversation(page)
      await page.getByRole('button', { name: 'Template', exact: true }).click()
      await page.getByRole('button', { name: /parcel_sent/ }).click()
      await page.getByLabel('Language').selectOption('en_US')
      await page.locator('.preview').getByText('Hi {{1}}, your order {{2}}').waitFor()
      await page.getByRole('button', { name: 'Another template' }).click()
      await page.getByRole('button', { name: /parcel_late/ }).waitFor()
    })
  })

  test('can be chosen and filled in by everybody', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      await page.getByRole('button', { name: 'Template', exact: true }).click()
      await page.getByRole('button', { name: /parcel_sent/ }).waitFor()
      expect(await violations(page, 'the list of templates')).toEqual([])
      await page.getByRole('button', { name: /parcel_sent/ }).click()
      await page.getByLabel('{{1}}', { exact: true }).fill('Carla')
      await page.locator('.preview').waitFor()
      expect(await violations(page, 'a template')).toEqual([])
    })
  })
})

describe('files', () => {
  test('are attached, dropped and pasted, and sent with the text as the caption of the first', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      await page.getByLabel('Files to attach').setInputFiles([
        { name: 'fern.png', mimeType: 'image/png', buffer: PNG },
        { name: 'care.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 care') },
      ])
      await files(page).getByText('fern.png').waitFor()
      await files(page).getByRole('button', { name: 'Remove care.pdf' }).waitFor()
      await page.evaluate(() => {
        const data = new DataTransfer()
        data.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }))
        document.body.dispatchEvent(
          new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }),
        )
      })
      await files(page).getByRole('button', { name: 'Remove dropped.txt' }).waitFor()
      await reply(page).evaluate((element) => {
        const data = new DataTransfer()
        data.items.add(new File(['pasted'], 'pasted.txt', { type: 'text/plain' }))
        element.dispatchEvent(
          new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
        )
      })
      await files(page).getByRole('button', { name: 'Remove pasted.txt' }).waitFor()
      await files(page).getByRole('button', { name: 'Remove pasted.txt' }).click()
      await reply(page).fill('A *fern*')
      expect(await violations(page, 'files')).toEqual([])
      // An attached file is there after a reload.
      await page.reload()
      await files(page).getByText('care.pdf').waitFor()
      await reply(page).press('Enter')
      await files(page).waitFor({ state: 'detached' })
      const image = await sent(({ type }) => type === 'image')
      expect(image.content).toMatchObject({ caption: 'A *fern*' })
      await sent(({ content }) => content?.filename === 'care.pdf')
      await sent(({ content }) => content?.filename === 'dropped.txt')
      expect((await sends()).some(({ content }) => content?.filename === 'pasted.txt')).toBe(false)
      const bubble = page.locator('.said.team', { hasText: 'A fern' })
      await bubble.getByRole('button', { name: 'Show the image' }).click()
      await bubble.locator('img.media').waitFor()
    })
  })

  test('say how much of them has left, and are cancelled on their way', async () => {
    await onPage({}, async (page, context) => {
      await inConversation(page)
      const network = await context.newCDPSession(page)
      const throttled = (uploadThroughput: number) =>
        network.send('Network.emulateNetworkConditions', {
          ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput },
        })
      await throttled(64 * 1024)
      const buffer = Buffer.concat([PNG, Buffer.alloc(4 * 1024 * 1024)])
      await page
        .getByLabel('Files to attach')
        .setInputFiles([{ name: 'slow.png', mimeType: 'image/png', buffer }])
      const progress = files(page).getByRole('progressbar', { name: 'slow.png is on its way' })
      await progress.waitFor()
      await page.waitForFunction(() => {
        const { value = 0 } = document.querySelector('progress') ?? {}
        return value > 0 && value < 1
      })
      expect(await send(page).isDisabled()).toBe(true)
      await files(page).getByRole('button', { name: 'Cancel slow.png' }).click()
      await files(page).waitFor({ state: 'detached' })

      // Whoever leaves and comes back finds the file, and what they typed meanwhile.
      await reply(page).fill('Before')
      const small = Buffer.concat([PNG, Buffer.alloc(256 * 1024)])
      await page
        .getByLabel('Files to attach')
        .setInputFiles([{ name: 'late.png', mimeType: 'image/png', buffer: small }])
      await files(page).getByRole('progressbar', { name: 'late.png is on its way' }).waitFor()
      await page.locator('.back').evaluate((link: HTMLElement) => link.click())
      await page.getByText('No conversation is open').waitFor()
      await page.locator('.threads a', { hasText: 'Carla' }).first().click()
      await reply(page).fill('Before and after')
      await files(page).getByRole('button', { name: 'Remove late.png' }).waitFor()
      expect(await reply(page).inputValue()).toBe('Before and after')
      await reply(page).fill('')
      await files(page).getByRole('button', { name: 'Remove late.png' }).click()
      await files(page).waitFor({ state: 'detached' })
      await throttled(-1)
      await page
        .getByLabel('Files to attach')
        .setInputFiles([{ name: 'quick.png', mimeType: 'image/png', buffer: PNG }])
      await files(page).getByRole('button', { name: 'Remove quick.png' }).click()
      await files(page).waitFor({ state: 'detached' })
    })
  })

  test('that the provider does not take are refused before they leave, and by the service', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      await page.getByLabel('Files to attach').setInputFiles([
        { name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from('<svg/>') },
        { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
        { name: 'huge.png', mimeType: 'image/png', buffer: Buffer.alloc(5 * 1024 * 1024 + 1) },
        { name: 'page.png', mimeType: 'image/png', buffer: Buffer.from('<html>') },
      ])
      await files(page).getByText('is of a type that is not taken: image/svg+xml').waitFor()
      await files(page).getByText('is empty').waitFor()
      await files(page).getByText('as image 5 are taken').waitFor()
      await files(page).getByText('The bytes are something else, and no image/png').waitFor()
      await files(page).getByRole('button', { name: 'Dismiss a.svg' }).click()
      expect(await files(page).getByText('a.svg').count()).toBe(0)
      expect(await send(page).isDisabled()).toBe(true)
    })
  })
})

describe('a message', () => {
  test('is quoted in the reply to it, for the person and for the team', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      // The assistant had said the same by then.
      const theirs = page.locator('.said.theirs', { hasText: 'Where is my order?' })
      await theirs.getByRole('button', { name: 'Quote “Where is my order?”' }).click()
      await page.locator('.reply .quoted', { hasText: 'Where is my order?' }).waitFor()
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      await reply(page).fill('On its **way**')
      expect(await violations(page, 'a quote')).toEqual([])
      await reply(page).press('Enter')
      const one = await sent(({ text }) => text === 'On its *way*')
      expect(one.quoted).toMatch(/^wamid\./)
      const bubble = page.locator('.said.team', { hasText: 'On its way' })
      await bubble.locator('blockquote', { hasText: 'Where is my order?' }).waitFor()
      await page.locator('.threads', { hasText: 'On its *way*' }).waitFor()
      expect(await page.locator('.reply .quoted').count()).toBe(0)
    })
  })

  test('is reacted to with an emoji, which stands at it until it is taken back', async () => {
    await writeAsPerson(number, { from: '5511988880001', name: 'Carla', text: 'Thanks a lot' })
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      const theirs = page.locator('.said.theirs', { hasText: 'Thanks a lot' })
      await theirs.getByRole('button', { name: 'React' }).click()
      await theirs.getByRole('button', { name: '👍', exact: true }).waitFor()
      expect(await violations(page, 'emojis for a reaction')).toEqual([])
      await theirs.getByRole('button', { name: '👍', exact: true }).click()
      const reaction = theirs.getByRole('list', { name: 'Reactions' })
      await reaction.getByText('👍').waitFor()
      expect(await reaction.locator('[title]').getAttribute('title')).toBe('Ana Souza reacted with 👍')
      const { content } = await sent(({ type }) => type === 'reaction')
      expect(content).toMatchObject({ emoji: '👍', message_id: expect.stringMatching(/^wamid\./) })
      expect(await violations(page, 'a reaction')).toEqual([])
      await theirs.getByRole('button', { name: 'Take 👍 back' }).click()
      await reaction.waitFor({ state: 'detached' })
      await sent((one) => one.type === 'reaction' && one.content?.emoji === '')
      // The team's own messages can't be reacted to.
      expect(await page.locator('.said.ours').getByRole('button', { name: 'React' }).count()).toBe(0)
    })
  })

  test('has emojis where they are put, by the keyboard alone', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      await reply(page).fill('Good day')
      for (let at = 0; at < 'day'.length; at++) await reply(page).press('ArrowLeft')
      await page.getByRole('button', { name: 'Emoji' }).press('Enter')
      const picker = page.locator('.reply .emoji-picker')
      await picker.locator('button:focus').waitFor()
      expect(await violations(page, 'emojis')).toEqual([])
      await page.keyboard.press('Escape')
      await picker.waitFor({ state: 'detached' })
      await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
      await page.getByRole('button', { name: 'Emoji' }).press('Enter')
      await picker.locator('button:focus').waitFor()
      await page.keyboard.press('ArrowRight')
      const second = await page.evaluate(() => document.activeElement?.textContent)
      await page.keyboard.press('Enter')
      await picker.waitFor({ state: 'detached' })
      // The next typed character comes behind it.
      await page.keyboard.type(' ')
      expect(await reply(page).inputValue()).toBe(`Good ${second} day`)
      await reply(page).fill('')
    })
  })

  test('is photographed on a phone', async () => {
    await onPage({ ...WITH_AXE, viewport: PHONE, hasTouch: true, isMobile: true }, async (page) => {
      await inConversation(page)
      const photo = page.getByLabel('A photo to attach')
      for (const [name, value] of [
        ['capture', 'environment'],
        ['accept', 'image/*'],
        ['multiple', null],
      ] as const)
        expect([name, await photo.getAttribute(name)]).toEqual([name, value])
      const chosen = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Take a photo' }).tap()
      await (await chosen).setFiles({ name: 'photo.png', mimeType: 'image/png', buffer: PNG })
      await files(page).getByText('photo.png').waitFor()
      await files(page).getByRole('button', { name: 'Remove photo.png' }).tap()
      expect(await violations(page, 'the reply box on a phone')).toEqual([])
    })
    await onPage({}, async (page) => {
      await inConversation(page)
      await page.getByRole('button', { name: 'Attach files' }).waitFor()
      expect(await page.getByRole('button', { name: 'Take a photo' }).isVisible()).toBe(false)
    })
  })

  test('is typed in sight of the person', async () => {
    await onPage(WITH_AXE, async (page) => {
      await inConversation(page)
      await reply(page).pressSequentially('Hel')
      await eventually(async () => {
        const at = `${number.simulatorUrl}/simulator/receipts?phoneNumberId=${number.phoneNumberId}`
        const { data } = (await (await fetch(at)).json()) as { data: { isTyping: boolean }[] }
        return data.some(({ isTyping }) => isTyping)
      })
      await reply(page).fill('')
    })
  })
})

test('what is known of the person stands beside the conversation, with their other conversations', async () => {
  const body = {
    extId: 'line',
    user: { phone: '+55 11 98888-0001' },
    thread: { extId: 'order-1' },
    answer: { message: 'Hi' },
  }
  expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
  await onPage(WITH_AXE, async (page) => {
    await inConversation(page)
    // There is room for it, so it is there without being asked for.
    const aside = page.getByRole('complementary', { name: 'About Carla' })
    for (const text of [
      '+5511988880001',
      'Brazilian Portuguese (pt_BR)',
      'America/Sao_Paulo',
      'vip',
      'city',
      'Santos',
      'withdrawn',
    ])
      await aside.getByText(text, { exact: true }).first().waitFor()
    await aside.getByRole('link', { name: 'line' }).waitFor()
    expect(await violations(page, 'the person')).toEqual([])
    await page.getByRole('button', { name: 'Person', exact: true }).click()
    await aside.waitFor({ state: 'detached' })
    await page.reload()
    await reply(page).waitFor()
    expect(await aside.count()).toBe(0)
    await page.getByRole('button', { name: 'Person', exact: true }).click()
    await aside.waitFor()
  })
  await onPage({ viewport: PHONE }, async (page) => {
    await inConversation(page)
    expect(await page.getByRole('complementary', { name: 'About Carla' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Person', exact: true }).click()
    await page.getByRole('complementary', { name: 'About Carla' }).waitFor()
  })
})
