import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator } from '@parley/local/simulator/app'
import { sendJson } from '@parley/local/testing/send-json'
import { eventually } from '@parley/local/testing/service-under-test'
import { type Parley, registerCaller, startParley } from '@parley/local/testing/start-parley'
import type { ServiceName } from '@parley/shared/internal-token'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

let parley: Parley
let caller: Awaited<ReturnType<typeof registerCaller>>
let rival: Awaited<ReturnType<typeof registerCaller>>
let stopSimulator: () => Promise<void>
let simulatorUrl: string

beforeAll(async () => {
  const simulator = await buildSimulator({})
  const server = createServer(simulator.app).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  simulatorUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  stopSimulator = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await simulator.close()
  }
  parley = await startParley({
    services: ['identity', 'configuration', 'webhook', 'dispatcher'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  caller = await registerCaller(parley)
  rival = await registerCaller(parley, { email: 'rui@example.com', namespace: 'rival' })
  const config = { phoneNumberId: '7001', accessToken: 'token', apiUrl: `${simulatorUrl}/v23.0` }
  const line = { name: '', description: '', hook: 'whatsapp', callback: 'whatsapp', config }
  const channels = [
    { ...line, extId: 'line' },
    { ...line, extId: 'expired', config: { ...config, accessToken: 'expired' } },
    { ...line, extId: 'rpc', hook: 'rpc', callback: 'rpc', config: { callbackUrl: `${simulatorUrl}/x` } },
  ]
  for (const [id, channel] of channels.entries()) {
    const body = { ...channel, handlerUrl: 'native:agents/echo' }
    expect((await call('configuration', 'PUT', `/rest/channels/${id + 1}`, body)).status).toBe(200)
  }
})
afterAll(async () => {
  await parley?.close()
  await stopSimulator?.()
})

function call(service: ServiceName, method: string, path: string, body?: unknown, as = caller) {
  const headers = { authorization: parley.authorization('gateway', service, as) }
  return sendJson(parley.services[service].url + path, method, {
    headers,
    ...(body !== undefined && { body }),
  })
}

/** The thread of a message with an answer, once it is sent, and the entry of that. */
async function threadOn(extId: string): Promise<{ thread: string; entry: string }> {
  const thread = `t-${extId}-${Math.random()}`
  const body = {
    extId,
    user: { phone: '5511988887777' },
    thread: { extId: thread },
    answer: { message: 'Hi' },
  }
  expect((await call('webhook', 'POST', '/api/hooks/whatsapp', body)).status).toBe(200)
  return eventually(async () => {
    const { json } = await call('dispatcher', 'GET', `/rest/threads/${thread}/messages`)
    const entry = (json as { data?: { _id: string; state: string }[] }).data?.[0]
    const isOver = ['sent', 'delivered', 'failed'].includes(entry?.state ?? '')
    return isOver ? { thread, entry: String(entry?._id) } : undefined
  })
}

async function upload(
  thread: string,
  { bytes, type, as = caller }: { bytes: Buffer; type: string; as?: typeof caller },
) {
  const response = await fetch(`${parley.services.dispatcher.url}/rest/threads/${thread}/files?name=a.bin`, {
    method: 'POST',
    headers: { authorization: parley.authorization('gateway', 'dispatcher', as), 'content-type': type },
    body: new Uint8Array(bytes),
  })
  return {
    status: response.status,
    json: (await response.json()) as { code?: string; _id?: string; type?: string; detail?: string },
  }
}
const reply = (thread: string, body: object) =>
  call('dispatcher', 'POST', `/rest/threads/${thread}/messages`, body)

describe('a file for a reply', () => {
  test('is with the provider, is sent by its id, and is read again by the message that sent it', async () => {
    const { thread } = await threadOn('line')
    const { status, json } = await upload(thread, { bytes: PNG, type: 'image/png' })
    expect({ status, type: json.type }).toEqual({ status: 200, type: 'image' })
    const sent = await reply(thread, {
      whatsapp: { type: 'image', image: { id: json._id, caption: 'A fern' } },
    })
    const { _id } = sent.json as { _id: string }
    const read = await eventually(async () => {
      const response = await fetch(`${parley.services.dispatcher.url}/rest/messages/${_id}/media`, {
        headers: { authorization: parley.authorization('gateway', 'dispatcher', caller) },
      })
      return response.status === 200 ? response : undefined
    })
    expect(read.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await read.arrayBuffer()).equals(PNG)).toBe(true)
  })

  test.each([
    [
      'of a type that the provider does not take',
      'line',
      { bytes: Buffer.from('<svg/>'), type: 'image/svg+xml' },
      415,
    ],
    ['whose bytes are of another type', 'line', { bytes: Buffer.from('<html>'), type: 'image/png' }, 415],
    ['that hides a picture', 'line', { bytes: PNG, type: 'text/plain' }, 415],
    ['that is too large', 'line', { bytes: Buffer.alloc(5 * 1024 * 1024 + 1), type: 'image/png' }, 413],
    ['that is empty', 'line', { bytes: Buffer.alloc(0), type: 'text/plain' }, 422],
    ['of a channel that takes none', 'rpc', { bytes: PNG, type: 'image/png' }, 415],
    ['that the provider refuses', 'expired', { bytes: PNG, type: 'image/png' }, 502],
  ] as const)('%s is refused', async (_name, extId, file, status) => {
    const { thread } = await threadOn(extId)
    expect(await upload(thread, file)).toMatchObject({ status })
  })

  test('of nobody else reaches the provider', async () => {
    const { thread } = await threadOn('line')
    expect((await upload(thread, { bytes: PNG, type: 'image/png', as: rival })).status).toBe(404)
  })
})

describe('a reply that quotes', () => {
  test('a send names it to the provider, and shows it', async () => {
    const { thread, entry } = await threadOn('line')
    const { status } = await reply(thread, { text: 'That **one**', quoted: entry })
    expect(status).toBe(200)
    const shown = await eventually(async () => {
      const { json } = await call('dispatcher', 'GET', `/rest/threads/${thread}/messages`)
      return (json as { data: { quoted?: { text: string }; whatsapp?: object; state: string }[] }).data.find(
        ({ quoted, state }) => quoted !== undefined && state === 'sent',
      )
    })
    expect(shown).toMatchObject({ quoted: { text: 'Hi' }, whatsapp: { text: { body: 'That *one*' } } })
    const { json } = await call('dispatcher', 'GET', `/rest/threads/${thread}`)
    await eventually(async () => {
      const { lastMessage } = (await call('dispatcher', 'GET', `/rest/threads/${thread}`)).json as {
        lastMessage: string
      }
      return lastMessage === 'That *one*'
    })
    expect(json).toMatchObject({ extId: thread })
  })

  test('what is of another conversation, or that the provider does not know, is refused', async () => {
    const { thread } = await threadOn('line')
    const { entry: other } = await threadOn('line')
    for (const quoted of [other, `${other}:7`, 'unknown', ':', other.split(':')[0]]) {
      const { status, json } = await reply(thread, { text: 'That one', quoted })
      expect([quoted, status, json]).toMatchObject([
        quoted,
        422,
        { errors: [{ path: '/quoted', code: 'not_quotable' }] },
      ])
    }
    const { thread: rpc, entry } = await threadOn('rpc')
    expect((await reply(rpc, { text: 'That one', quoted: entry })).status).toBe(422)
  })

  test('with a text that is longer than one message is refused', async () => {
    const { thread, entry } = await threadOn('line')
    expect((await reply(thread, { text: 'x'.repeat(4_097), quoted: entry })).status).toBe(422)
  })
})

test('nobody is shown that somebody types where nothing came from the provider', async () => {
  const { thread } = await threadOn('line')
  const { status, json } = await call('dispatcher', 'POST', `/rest/threads/${thread}/typing`)
  expect({ status, json }).toMatchObject({ status: 200, json: { asked: false } })
})
