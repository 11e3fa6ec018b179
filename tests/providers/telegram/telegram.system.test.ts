import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildModelSimulator } from '@parley/local/model-simulator/app'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { registerProvider } from '@parley/shared/providers/registry'
import { modelEnvironment } from '../../e2e/assistant-system.ts'
import { registerWorkspace, type Workspace } from '../../lab/system/workspace.ts'
import { type BotApi, type BotCall, PHOTO, startBotApi } from './bot-api.ts'
import { telegram } from './telegram.ts'

const TOKEN = '4711:a-token-of-nobody'
const SECRET = 'a-secret-of-ones-own'
const LINE = 'bot'

let unregister: () => void
let bot: BotApi
let model: Listening
let parley: Parley
let workspace: Workspace
let number = 0

beforeAll(async () => {
  unregister = registerProvider(telegram)
  bot = await startBotApi(TOKEN)
  model = await listen(buildModelSimulator())
  parley = await startParley({ environment: { dispatcher: modelEnvironment(model) } })
  workspace = await registerWorkspace(parley.url, 'telegram')
  await workspace.call('PUT', '/rest/assistant/1', {
    name: 'Lia',
    description: '',
    backstory: 'You are Lia.',
  })
  await putChannel(1, LINE, 'native:agents/echo')
})
afterAll(async () => {
  await parley.close()
  await model.close()
  await bot.close()
  unregister()
})

function putChannel(id: number, extId: string, handlerUrl: string) {
  const config = { botToken: TOKEN, webhookSecret: SECRET, apiUrl: bot.url, assistantId: 1 }
  const names = { name: extId, description: '', extId, hook: 'telegram', callback: 'telegram' }
  return workspace.call('PUT', `/rest/channels/${id}`, { ...names, handlerUrl, config })
}

/** Somebody writes to the bot: resolves with what the webhook responds. */
async function write(chat: number, message: object, { line = LINE, secret = SECRET } = {}) {
  const update = {
    update_id: ++number,
    message: {
      message_id: number,
      chat: { id: chat, type: 'private' },
      from: { first_name: 'Ana' },
      ...message,
    },
  }
  const url = workspace.providerUrl(line).replace('/whatsapp/', '/telegram/')
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
    body: JSON.stringify(update),
  })
  return { status: response.status, json: (await response.json()) as Parsed, update }
}

const callsOf = (method: string, chat: number): BotCall[] =>
  bot.calls.filter((call) => call.method === method && call.body.chat_id === chat)

const said = (chat: number, text: string): Promise<BotCall> =>
  eventually(() => callsOf('sendMessage', chat).find(({ body }) => body.text === text))

const latest = async (thread: string): Promise<Parsed> =>
  ((await workspace.call('GET', `/rest/messages?thread=${thread}`)) as Parsed).data[0]

describe('a provider that is one folder', () => {
  test('receives what proves to be its own, and its answer goes back to the chat', async () => {
    expect(await write(1, { text: 'Hello' }, { secret: 'another' })).toMatchObject({ status: 403 })
    const { status, json } = await write(1, { text: 'Hello' })
    expect([status, json]).toEqual([200, { accepted: 1, repeated: 0, kept: 0, skipped: 0, foreign: 0 }])
    await said(1, 'Hello')
    const message = await eventually(async () => {
      const found = await latest('telegram:1')
      return found?.state === 'sent' ? found : undefined
    })
    expect(message).toMatchObject({ source: 'telegram', addresses: ['telegram:1'], channel: LINE })
    const { data } = (await workspace.call('GET', '/rest/hooks')) as Parsed
    expect(data[0]).toMatchObject({
      url: workspace.providerUrl(LINE).replace('/whatsapp/', '/telegram/'),
      problems: [],
      lastError: { code: 'secret_wrong' },
      setup: [{ where: 'setWebhook: url' }, { where: 'setWebhook: secret_token' }],
    })
  })

  test('repeats no message, and skips what it can not read', async () => {
    const { update } = await write(2, { text: 'Once' })
    await said(2, 'Once')
    number = update.update_id - 1
    expect((await write(2, { text: 'Once' })).json).toMatchObject({ accepted: 0, repeated: 1 })
    expect((await write(2, { chat: null })).json).toMatchObject({ accepted: 0, skipped: 1 })
    expect(callsOf('sendMessage', 2)).toHaveLength(1)
  })

  test('is replied to by a person of the team, with a text and with no template', async () => {
    await write(3, { text: 'Is anybody there?' })
    await said(3, 'Is anybody there?')
    const threads = await eventually(async () => {
      const { data } = (await workspace.call('GET', '/rest/threads?q=ana')) as Parsed
      return data.find(({ extId }: Parsed) => extId === 'telegram:3')
    })
    expect(threads).toMatchObject({ addresses: ['telegram:3'], serviceWindowEndsAt: null })
    const path = `/rest/threads/${threads._id}/messages`
    await workspace.call('POST', path, { text: 'I am.' })
    await said(3, 'I am.')
    const template = { template: 'welcome', language: 'en' }
    const { _id } = (await workspace.call('POST', path, template)) as Parsed
    const refused = await eventually(async () => {
      const response = await workspace.request('GET', `/rest/messages/${_id}`)
      const message = (await response.json()) as Parsed
      return message.state === 'dead' ? message : undefined
    })
    expect(refused.attempts[0]).toMatchObject({ outcome: 'permanent', code: 'no_templates' })
    const object = await workspace.request('POST', path, { whatsapp: { type: 'image', image: {} } })
    expect([object.status, await object.json()]).toMatchObject([422, { errors: [{ code: 'not_whatsapp' }] }])
  })

  test('is sent to again when its rate limit says so, and each send counts against its bot', async () => {
    bot.refuseNext(2)
    await write(4, { text: 'Slowly' })
    await eventually(() => (callsOf('sendMessage', 4).length === 2 ? true : undefined))
    const [first, second] = callsOf('sendMessage', 4)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2_000)
    const message = await eventually(async () => {
      const found = await latest('telegram:4')
      return found?.state === 'sent' ? found : undefined
    })
    const { attempts } = (await workspace.call('GET', `/rest/messages/${message._id}`)) as Parsed
    expect(attempts.filter(({ code }: Parsed) => code === '429')).toHaveLength(1)
    const traffic = await parley
      .database('dispatcher')
      .collection('traffic')
      .findOne({ 'numbers.number': '4711' })
    expect(traffic).not.toBeNull()
  })

  test('shows that an assistant is typing, and has media', async () => {
    await putChannel(2, 'assistant', 'native:agents/chat')
    await fetch(`${model.url}/simulator/script`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ responses: [{ text: 'A fine photo.', delayMs: 200 }] }),
    })
    const photo = [{ file_id: 'small' }, { file_id: 'large' }]
    await write(5, { photo, caption: 'Look' }, { line: 'assistant' })
    await said(5, 'A fine photo.')
    expect(callsOf('sendChatAction', 5)[0]?.body).toEqual({ chat_id: 5, action: 'typing' })
    const { _id } = await latest('telegram:5')
    const media = await workspace.request('GET', `/rest/messages/${_id}/media`)
    expect([media.status, media.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await media.arrayBuffer())).toEqual(PHOTO)
  })

  test('has its secrets sealed, and is told of what its channel lacks', async () => {
    const documents = parley.database('configuration').collection('channels')
    const stored = JSON.stringify(await documents.find().toArray())
    expect(stored).toContain(LINE)
    for (const secret of [TOKEN, SECRET]) expect(stored).not.toContain(secret)
    const names = { name: 'x', description: '', extId: 'lacking', hook: 'telegram', callback: 'telegram' }
    await workspace.call('PUT', '/rest/channels/3', {
      ...names,
      handlerUrl: 'native:agents/echo',
      config: {},
    })
    const { data } = (await workspace.call('GET', '/rest/check')) as Parsed
    expect(data).toContainEqual(
      expect.objectContaining({ code: 'incomplete_channel', path: '/config/botToken', _id: 3 }),
    )
    const unknown = await workspace.request('PUT', '/rest/channels/4', {
      ...{ ...names, hook: 'pigeon' },
      ...{ handlerUrl: 'native:agents/echo', config: {} },
    })
    expect([unknown.status, await unknown.json()]).toMatchObject([422, { errors: [{ path: '/hook' }] }])
  })
})
