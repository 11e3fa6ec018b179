import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0, 1, 2])])

let system: AssistantSystem
let clinic: Clinic

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'seen')
})
beforeEach(() => clinic.script())
afterAll(async () => {
  await clinic.close()
  await system.close()
})

const simulator = async (path: string, body?: object): Promise<Parsed> => {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  return (await fetch(`${system.simulatorUrl}/simulator/${path}`, init)).json()
}

/** The person sends something; resolves with the message, once it has its answer. */
async function send(message: object, media?: object): Promise<Parsed> {
  const { data } = (await clinic.call('GET', '/rest/messages?limit=200')) as Parsed
  const { phoneNumberId, from } = clinic.person
  await simulator('inbound', { phoneNumberId, from, message, ...(media && { media }) })
  return clinic.responded(data.length)
}
/** The dispatcher reads the assistant's configs anew. */
const refreshed = () => clinic.call('POST', '/rest/assistant/1/prompt', {})
const image = { base64: PNG.toString('base64'), mimeType: 'image/png' }
const lastOfPerson = async () =>
  (await clinic.requests()).at(-1).messages.findLast(({ role }: Parsed) => role === 'user').content

describe('a person who writes in WhatsApp', () => {
  test('sees that an assistant is typing while it works, unless the channel turns that off', async () => {
    const receipts = async () =>
      (await simulator(`receipts?phoneNumberId=${clinic.person.phoneNumberId}`)).data as Parsed[]
    await clinic.script({ text: 'One.', delayMs: 500 }, { text: 'Two.' })
    const asked = clinic.ask('Hello')
    const [receipt] = await eventually(async () => {
      const found = await receipts()
      return found.length > 0 ? found : undefined
    })
    const message = await asked
    expect(receipt).toMatchObject({ isTyping: true, messageId: message.message.meta.id })
    const before = (await receipts()).length
    await clinic.call('PATCH', '/rest/channels/1', { config: { typing: false } })
    await eventually(async () => {
      const had = (await receipts()).length
      await clinic.ask('Hello again')
      return (await receipts()).length === had
    })
    expect(before).toBeGreaterThan(0)
    await clinic.call('PATCH', '/rest/channels/1', { config: { typing: null } })
  })

  test('sends an image, which is handed out by the gateway, and told of to a model that reads none', async () => {
    const message = await send({ type: 'image', image: { caption: 'My foot' } }, image)
    const response = await clinic.request('GET', `/rest/messages/${message._id}/media`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(PNG)
    expect(await lastOfPerson()).toBe('My foot\n[The person sent an image, which you can not see.]')
  })

  test('sends an image that a model with vision reads, then and in later messages', async () => {
    const value = {
      ...{ provider: 'openai-compatible', model: 'simulator', vision: true },
      baseUrl: `${system.modelSimulatorUrl}/v1`,
    }
    const owned = { owner: 1, ownerType: 'assistant', name: 'model', value }
    await clinic.call('PUT', '/rest/configs/71', owned)
    const url = `data:image/png;base64,${PNG.toString('base64')}`
    await refreshed()
    await send({ type: 'image', image: { caption: 'My hand' } }, image)
    expect(await lastOfPerson()).toEqual([
      { type: 'text', text: 'My hand' },
      { type: 'image_url', image_url: { url } },
    ])
    await clinic.ask('What is it?')
    expect(JSON.stringify((await clinic.requests()).at(-1))).toContain(url)
    await clinic.call('DELETE', '/rest/configs/71?force=true')
    await refreshed()
  })

  test('sends a location, contacts and the choice of a button, which the model reads as text', async () => {
    const location = { latitude: -23.5, longitude: -46.6, name: 'Office', address: 'Rua A, 1' }
    const message = await send({ type: 'location', location })
    expect(await lastOfPerson()).toBe('[The person sent a location: -23.5, -46.6; Office; Rua A, 1]')
    expect(await clinic.call('GET', `/rest/messages/${message._id}/media`)).toEqual({
      type: 'location',
      location,
    })
    const contacts = [{ name: { formatted_name: 'Rui' }, phones: [{ phone: '+55 11 1' }] }]
    await send({ type: 'contacts', contacts })
    expect(await lastOfPerson()).toBe('[The person sent contacts: Rui, +55 11 1]')
    const interactive = { type: 'button_reply', button_reply: { id: 'fri-9', title: 'Friday at 9' } }
    await send({ type: 'interactive', interactive })
    expect(await lastOfPerson()).toBe('Friday at 9\n[The person chose: fri-9]')
  })
})

describe('a person whom an assistant answers', () => {
  const sent = async () => {
    const { data } = await simulator(`sends?phoneNumberId=${clinic.person.phoneNumberId}&limit=1000`)
    return data as Parsed[]
  }
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday']
  const callback = (buttons: string[]) => ({
    calls: [
      {
        name: 'callback',
        arguments: {
          message: '**Which day?**',
          buttons: buttons.map((title) => ({ id: `day-${title}`, title })),
        },
      },
    ],
  })

  test('may choose from what it offers, whose mistakes go back to the model, and reads no Markdown', async () => {
    const before = (await sent()).length
    await clinic.script(callback(days), callback(days.slice(0, 2)), {
      text: '## Please choose\n\n| day | time |\n|---|---|\n| Monday | 9 |\n\n[Map](https://example.com/a_b) ~~old~~',
    })
    await clinic.ask('I need an appointment')
    expect(
      (await sent()).slice(before).map(({ type, content, text }) => ({ type, ...(content ?? { text }) })),
    ).toEqual([
      {
        type: 'button',
        body: { text: '*Which day?*' },
        action: {
          buttons: days.slice(0, 2).map((title) => ({ type: 'reply', reply: { id: `day-${title}`, title } })),
        },
      },
      {
        type: 'text',
        text: '*Please choose*\n\n*day | time*\nMonday | 9\n\nMap (https://example.com/a_b) ~old~',
      },
    ])
    const [, second] = await clinic.requests()
    expect(second.messages.at(-1).content).toContain('/buttons: has more than 3')
    const interactive = { type: 'button_reply', button_reply: { id: 'day-Monday', title: 'Monday' } }
    await send({ type: 'interactive', interactive })
    expect(await lastOfPerson()).toContain('Monday\n[The person chose: day-Monday]')
  })
})
