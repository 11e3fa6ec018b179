import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilReady } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { defined } from '@parley/shared/defined'
import { webhookMessage } from '@parley/shared/message'
import { messageStatus } from '@parley/shared/message-status'
import { partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import { statusPartitionOf, statusQueue } from '@parley/shared/messaging/topology'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import {
  contact,
  metaChannel,
  metaMessage,
  payloadOf,
  postPayload,
  signatureOf,
  VERIFY_TOKEN,
} from './meta-payload.ts'
import type { Taken } from './take-queues.ts'

let world: IntakeWorld
let hook: string
beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(7, metaChannel('line-7'))
  hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line-7`
}, START_MS)
afterAll(() => world.close(), START_MS)

const shake = async (url: string, query: Record<string, string>) => {
  const answer = await fetch(`${url}?${new URLSearchParams(query)}`)
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
}
const bodyOf = ({ delivery }: Taken) => JSON.parse(delivery.content.toString())
const idOf = ({ delivery }: Taken): string => delivery.properties.messageId

describe('the handshake', () => {
  const right = { 'hub.mode': 'subscribe', 'hub.verify_token': VERIFY_TOKEN, 'hub.challenge': '11<b>58' }

  test('repeats the challenge as it is', async () => {
    expect(await shake(hook, right)).toEqual({
      status: 200,
      type: 'text/plain; charset=utf-8',
      text: '11<b>58',
    })
  })

  test.each([
    ['another token', { ...right, 'hub.verify_token': `${VERIFY_TOKEN}x` }],
    ['no token', { 'hub.mode': 'subscribe', 'hub.challenge': '1' }],
    ['another mode', { ...right, 'hub.mode': 'unsubscribe' }],
    ['a challenge beyond all bounds', { ...right, 'hub.challenge': 'x'.repeat(1_025) }],
  ])('with %s is refused', async (_name, query) => {
    expect((await shake(hook, query)).status).toBe(403)
  })

  test('of a channel without a verify token is refused, also with an empty one', async () => {
    await world.putChannel(8, metaChannel('line-8', { verifyToken: '' }))
    const url = `${world.url}/api/hooks/whatsapp/${world.slug}/line-8`
    expect((await shake(url, { ...right, 'hub.verify_token': '' })).status).toBe(403)
  })

  test('of an unknown workspace or channel is 404', async () => {
    for (const path of [`nobody/line-7`, `${world.slug}/line-9`, `UPPER/line-7`])
      expect((await shake(`${world.url}/api/hooks/whatsapp/${path}`, right)).status).toBe(404)
  })
})

describe('a message', () => {
  const cases: [string, object, string | undefined][] = [
    ['text', { type: 'text', text: { body: 'Olá' } }, 'Olá'],
    ['button', { type: 'button', button: { text: 'Yes', payload: 'y' } }, 'Yes'],
    [
      'a list reply',
      { type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: '1', title: 'One' } } },
      'One',
    ],
    [
      'a button reply',
      { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: '1', title: 'Go' } } },
      'Go',
    ],
    ['an image', { type: 'image', image: { id: 'm', mime_type: 'image/png', caption: 'look' } }, 'look'],
    ['a video', { type: 'video', video: { id: 'm', caption: 'see' } }, 'see'],
    ['a document', { type: 'document', document: { id: 'm', filename: 'a.pdf', caption: 'read' } }, 'read'],
    ['audio', { type: 'audio', audio: { id: 'm', voice: true } }, undefined],
    ['a sticker', { type: 'sticker', sticker: { id: 'm', animated: false } }, undefined],
    ['a location', { type: 'location', location: { latitude: 1.5, longitude: -2 } }, undefined],
    ['contacts', { type: 'contacts', contacts: [{ name: { formatted_name: 'A' } }] }, undefined],
    ['a reaction', { type: 'reaction', reaction: { message_id: 'w', emoji: '👍' } }, '👍'],
    ['an unknown type', { type: 'hologram', hologram: { depth: 3 } }, undefined],
    ['a type that is a property of every object', { type: 'constructor' }, undefined],
    ['no type at all', {}, undefined],
  ]

  test.each(cases)('%s survives as it came', async (name, content, input) => {
    await world.drain()
    const raw = metaMessage(`wamid.${name}`, content)
    const answer = await postPayload(hook, payloadOf({ contacts: [contact], messages: [raw] }))
    expect([answer.status, answer.json]).toEqual([
      200,
      { accepted: 1, repeated: 0, kept: 0, skipped: 0, foreign: 0 },
    ])
    const [taken, ...rest] = await world.drain()
    if (taken === undefined) throw new Error('nothing was published')
    expect(rest).toEqual([])
    const body = bodyOf(taken)
    expect(webhookMessage.safeParse(body).success).toBe(true)
    expect(body).toEqual({
      extId: 'line-7',
      user: { name: 'Zoë', phone: '5511999998888' },
      thread: { extId: '5511999998888' },
      answer: {},
      ...defined({ input }),
      meta: raw,
    })
    const workspace = world.caller.workspace._id
    expect(taken.queue).toBe(testQueue(partitionOfSlot(slotOf(workspace, '5511999998888'), TEST_LAYOUT)))
    expect(taken.delivery.properties).toMatchObject({
      type: 'message.received.v1',
      headers: {
        workspace,
        channel: 'line-7',
        channelId: 7,
        thread: '5511999998888',
        source: 'meta',
      },
    })
  })

  test('from somebody without a phone number is theirs by user id', async () => {
    await world.drain()
    const { from: _from, ...raw } = metaMessage('wamid.bsuid', { type: 'text', text: { body: 'hi' } })
    const messages = [{ ...raw, from_user_id: 'US.1' }]
    const contacts = [{ profile: { name: 'Kim' }, user_id: 'US.1' }]
    expect((await postPayload(hook, payloadOf({ contacts, messages }))).status).toBe(200)
    expect((await world.drain()).map(bodyOf)).toMatchObject([
      { user: { name: 'Kim', phone: 'US.1' }, thread: { extId: 'US.1' } },
    ])
  })

  test("to another number than the channel's is left out, counted and shown, and a status of it as well", async () => {
    await world.drain()
    const text = { type: 'text', text: { body: 'x' } }
    await world.putChannel(11, metaChannel('line-11', { phoneNumberId: '901' }))
    const changeOf = (phoneNumberId: string | undefined, value: object) => ({
      field: 'messages',
      value: { metadata: { phone_number_id: phoneNumberId }, ...value },
    })
    const status = { id: 'wamid.of-903', status: 'sent', timestamp: '1760000000', recipient_id: '1' }
    const changes = [
      changeOf('903', { messages: [metaMessage('wamid.foreign', text)], statuses: [status] }),
      changeOf('901', { messages: [metaMessage('wamid.own', text)] }),
      changeOf(undefined, { messages: [metaMessage('wamid.unnamed', text)] }),
    ]
    const payload = { object: 'whatsapp_business_account', entry: [{ id: '1', changes }] }
    const answer = await postPayload(`${world.url}/api/hooks/whatsapp/${world.slug}/line-11`, payload)
    expect(answer.json).toEqual({ accepted: 2, repeated: 0, kept: 0, skipped: 0, foreign: 2 })
    const published = (await world.drain()).map(bodyOf)
    expect(published.map(({ meta, providerId }) => meta?.id ?? providerId).sort()).toEqual([
      'wamid.own',
      'wamid.unnamed',
    ])
    const shown = await eventually(async () => {
      const list = await fetch(`${world.url}/rest/hooks`, { headers: world.as('webhook') })
      const { data } = (await list.json()) as { data: { lastError: { code: string } | null }[] }
      return data.find(({ lastError }) => lastError?.code === 'foreign_number')
    })
    expect(shown).toBeDefined()
  })

  test('of a group is in the thread of the group, which is written to', async () => {
    await world.drain()
    const raw = {
      ...metaMessage('wamid.group', { type: 'text', text: { body: 'hi' } }),
      group_id: 'Y2FwaV9n',
    }
    await postPayload(hook, payloadOf({ contacts: [contact], messages: [raw] }))
    expect((await world.drain()).map(bodyOf)).toEqual([
      {
        extId: 'line-7',
        user: { name: 'Zoë', addresses: ['group:Y2FwaV9n'] },
        thread: { extId: 'Y2FwaV9n' },
        answer: {},
        input: 'hi',
        meta: raw,
      },
    ])
  })

  test('of the app of the business, of before and of its contacts is in the thread of its person', async () => {
    await world.drain()
    const metadata = { phone_number_id: '77', display_phone_number: '15550001111' }
    const echo = {
      ...metaMessage('wamid.echo', { type: 'text', text: { body: 'Hi' } }),
      from: '1',
      to: '4917',
    }
    const before = metaMessage('wamid.before', { type: 'text', text: { body: 'Hello' } })
    const contact = { type: 'contact', action: 'add', contact: { phone_number: '4917', full_name: 'Zoë' } }
    const changes = [
      { field: 'smb_message_echoes', value: { metadata, message_echoes: [echo, { ...echo, to: '' }] } },
      { field: 'history', value: { metadata, history: [{ threads: [{ id: '4917', messages: [before] }] }] } },
      { field: 'smb_app_state_sync', value: { metadata, state_sync: [contact] } },
    ]
    const { json } = await postPayload(hook, { entry: [{ id: '1', changes }] })
    expect(json).toMatchObject({ accepted: 3, skipped: 1 })
    const found = (await world.drain()).map(bodyOf) as Record<string, unknown>[]
    expect(found.map(({ thread, input }) => [thread, input])).toEqual([
      [{ extId: '4917' }, 'Hi'],
      [{ extId: '4917' }, 'Hello'],
      [{ extId: '4917' }, undefined],
    ])
  })

  test('that comes again is the same message, also when Redis has lost everything', async () => {
    await world.drain()
    const payload = payloadOf({
      messages: [metaMessage('wamid.twice', { type: 'text', text: { body: 'x' } })],
    })
    await postPayload(hook, payload)
    const again = await postPayload(hook, payload)
    expect(again.json).toEqual({ accepted: 0, repeated: 1, kept: 0, skipped: 0, foreign: 0 })
    const [first, ...rest] = await world.drain()
    expect(rest).toEqual([])
    world.redis.cut()
    expect((await postPayload(hook, payload)).status).toBe(200)
    world.redis.mend()
    await untilReady(world.url)
    expect((await world.drain()).map(idOf)).toEqual(first ? [idOf(first)] : [])
  })

  test('is another one at another channel', async () => {
    await world.drain()
    await world.putChannel(10, metaChannel('line-10'))
    const payload = payloadOf({ messages: [metaMessage('wamid.both', { type: 'text' })] })
    await postPayload(hook, payload)
    await postPayload(hook.replace('line-7', 'line-10'), payload)
    expect(new Set((await world.drain()).map(idOf)).size).toBe(2)
  })
})

describe('a status', () => {
  const status = {
    id: 'wamid.sent',
    status: 'failed',
    timestamp: '1760000001',
    recipient_id: '5511999998888',
    biz_opaque_callback_data: 'send-1',
    errors: [{ code: 131049, title: 'not now', message: 'm', error_data: { details: 'because' } }],
  }

  test('goes to the queue of its send with what belongs to it', async () => {
    await world.drain()
    await postPayload(hook, payloadOf({ statuses: [status] }))
    const [taken, ...rest] = await world.drain()
    if (taken === undefined) throw new Error('nothing was published')
    expect([rest, taken.queue]).toEqual([[], statusQueue(statusPartitionOf('wamid.sent'))])
    expect(messageStatus.parse(bodyOf(taken))).toEqual({
      workspace: world.caller.workspace._id,
      channel: 'line-7',
      providerId: 'wamid.sent',
      opaque: 'send-1',
      status: 'failed',
      at: '2025-10-09T08:53:21.000Z',
      recipient: '5511999998888',
      errors: [{ code: 131049, title: 'not now', message: 'm', details: 'because' }],
    })
    expect(taken.delivery.properties).toMatchObject({
      type: 'message.status.v1',
      headers: { channel: 'line-7', channelId: 7, source: 'meta' },
    })
  })

  test('and the next one of the same message are two, the same one twice is one', async () => {
    await world.drain()
    const statuses = ['sent', 'delivered', 'sent'].map((name) => ({ id: 'w', status: name, timestamp: '1' }))
    await postPayload(hook, payloadOf({ statuses }))
    expect((await world.drain()).map((taken) => bodyOf(taken).status)).toEqual(['sent', 'delivered'])
  })
})

describe('the signature', () => {
  const payload = payloadOf({
    messages: [metaMessage('wamid.forged', { type: 'text', text: { body: 'é' } })],
  })
  const text = JSON.stringify(payload)

  test.each([
    ['missing', text, null],
    ['empty', text, ''],
    ['of another secret', text, signatureOf(text, 'other')],
    ['of the empty secret', text, signatureOf(text, '')],
    ['of another body', text, signatureOf(`${text} `)],
    ['of the same JSON written otherwise', JSON.stringify(payload, null, 1), signatureOf(text)],
    ['of the same text escaped', text.replaceAll('é', '\\u00e9'), signatureOf(text)],
    ['with another algorithm', text, signatureOf(text).replace('sha256', 'sha1')],
    ['cut short', text, signatureOf(text).slice(0, -2)],
  ])('%s is refused, and nothing is published', async (_name, body, signature) => {
    await world.drain()
    expect((await postPayload(hook, body, { signature })).status).toBe(403)
    expect(await world.drain()).toEqual([])
  })

  test.each([
    ['escaped', text.replaceAll('é', '\\u00e9')],
    ['not escaped', text],
    ['with spaces and line ends', JSON.stringify(payload, null, 2)],
  ])('over the bytes as they came is right: Unicode %s', async (_name, body) => {
    expect((await postPayload(hook, body)).status).toBe(200)
  })

  test('is refused where the channel has no secret', async () => {
    await world.putChannel(9, metaChannel('line-secretless', { appSecret: null }))
    const url = hook.replace('line-7', 'line-secretless')
    expect((await postPayload(url, text, { signature: signatureOf(text, '') })).status).toBe(403)
  })

  test('does not matter for an unknown workspace or channel: 404', async () => {
    for (const url of [hook.replace('line-7', 'nothing'), hook.replace(world.slug, 'nobody')])
      expect((await postPayload(url, text)).status).toBe(404)
  })
})
