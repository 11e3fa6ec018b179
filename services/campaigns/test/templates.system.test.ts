import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator } from '@parley/local/simulator/app'
import { type JsonRequest, sendJson } from '@parley/local/testing/send-json'
import { eventually } from '@parley/local/testing/service-under-test'
import { type Parley, registerCaller, startParley } from '@parley/local/testing/start-parley'
import type { ServiceName } from '@parley/shared/internal-token'

const ACCOUNT = '102290129340398'
const NUMBER = '7001'
const HI = { type: 'BODY', text: 'Hi {{1}}, welcome!', example: { body_text: [['Ana']] } }

let parley: Parley
let caller: Awaited<ReturnType<typeof registerCaller>>
let simulatorUrl: string
let stopSimulator: () => Promise<void>

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
    services: ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  caller = await registerCaller(parley)
  const { status } = await call('configuration', 'PUT', '/rest/channels/1', {
    ...{ name: 'Support', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: {
      ...{ phoneNumberId: NUMBER, accessToken: 'token-of-the-line', businessAccountId: ACCOUNT },
      ...{ apiUrl: `${simulatorUrl}/v23.0`, appSecret: 'app-secret', verifyToken: 'verify' },
    },
  })
  expect(status).toBe(200)
})
afterAll(async () => {
  await parley?.close()
  await stopSimulator?.()
})

function call(service: ServiceName, method: string, path: string, body?: unknown) {
  const headers = { authorization: parley.authorization('gateway', service, caller) }
  const request: JsonRequest = { headers, ...(body === undefined ? {} : { body }) }
  return sendJson(parley.services[service].url + path, method, request)
}
const rest = (method: string, path: string, body?: unknown) =>
  call('campaigns', method, `/rest/templates${path}`, body)
const simulate = (path: string, body: object) =>
  sendJson(`${simulatorUrl}/simulator/${path}`, 'POST', { body })

interface Listed {
  _id: string
  name: string
  language: string
  status: string
}
const listed = async (name: string) => ((await rest('GET', `?name=${name}`)).json as { data: Listed[] }).data

/** Sends a message with these arguments; `ended` waits for its outcome. */
async function send(args: object) {
  const { status, headers } = await fetchMessage(args)
  expect(status).toBe(200)
  const id = headers.get('x-message-id') ?? ''
  return { id, ended: (...states: string[]) => message(id, states) }
}
const fetchMessage = (args: object) =>
  fetch(`${parley.services.webhook.url}/api/hooks/whatsapp`, {
    method: 'POST',
    headers: {
      authorization: parley.authorization('gateway', 'webhook', caller),
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      ...{ extId: 'line', user: { phone: '+5511988887777' }, thread: { extId: `t-${Math.random()}` } },
      answer: { functions: [{ name: 'callback', args }] },
    }),
  })

interface Seen {
  state: string
  reason?: string
  fault?: string
  waitingFor?: string
  attempts: { code?: string }[]
}
const message = (id: string, states: string[]) =>
  eventually(async () => {
    const { status, json } = await call('dispatcher', 'GET', `/rest/messages/${id}`)
    const seen = json as Seen
    return status === 200 && states.includes(seen.state) ? seen : undefined
  })

describe('templates', () => {
  test('are synchronised on request, and listed by pages', async () => {
    const { json } = await rest('POST', '/sync')
    expect(json).toEqual({ accounts: [{ account: ACCOUNT, syncedAt: expect.any(String) }] })
    const first = (await rest('GET', '?limit=2')).json as { data: Listed[]; next: string }
    const second = (await rest('GET', `?limit=2&after=${first.next}`)).json as { data: Listed[] }
    const names = [...first.data, ...second.data].map(({ name, language }) => `${name} ${language}`)
    expect(names).toEqual(['hello_world en_US', 'invoice en_US', 'invoice pt_BR', 'invoice_named en_US'])
    const beginning = (await rest('GET', '?q=inv&language=en_US')).json as { data: Listed[] }
    expect(beginning.data.map(({ name }) => name)).toEqual(['invoice', 'invoice_named'])
    const one = await rest('GET', `/${first.data[0]?._id}`)
    expect(one.json).toMatchObject({ name: 'hello_world', status: 'APPROVED', category: 'UTILITY' })
    expect((await rest('GET', '/0')).status).toBe(404)
  })

  test('are synchronised once a day without being asked', async () => {
    const accounts = parley.database('campaigns').collection('templateAccounts')
    const names = { name: 'hello_world', category: 'MARKETING' }
    // Nobody is told of it.
    await simulate('template-state', names)
    expect(await listed('hello_world')).toMatchObject([{ category: 'UTILITY' }])
    await accounts.updateOne({ account: ACCOUNT }, { $set: { dueAt: new Date() } })
    await eventually(async () => {
      const { json } = await rest('GET', '?name=hello_world')
      return json.data[0].category === 'MARKETING' || undefined
    })
    const [account] = await eventually(async () => {
      const found = await accounts.find({ account: ACCOUNT, leasedUntil: { $exists: false } }).toArray()
      return found.length > 0 ? found : undefined
    })
    expect(account?.dueAt.getTime() - account?.syncedAt.getTime()).toBe(24 * 60 * 60_000)
    await simulate('template-state', { ...names, category: 'UTILITY' })
  })

  test('are made, changed and deleted at the provider, which says what it refuses', async () => {
    const draft = { channel: 1, name: 'spring', language: 'pt_BR', category: 'MARKETING', components: [HI] }
    const made = await rest('POST', '', draft)
    expect(made).toMatchObject({ status: 200, json: { name: 'spring', status: 'PENDING' } })
    const again = await rest('POST', '', draft)
    expect(again).toMatchObject({ status: 422, json: { code: 'refused_by_provider', providerCode: 100 } })
    expect(JSON.stringify(again.json)).toContain('There is already a template of this name')
    expect(again.text).not.toContain('token-of-the-line')
    const wrong = await rest('POST', '', { ...draft, components: [{ ...HI, example: undefined }] })
    expect(wrong).toMatchObject({
      status: 422,
      json: { code: 'validation_failed', errors: [{ path: '/components/0/example/body_text' }] },
    })
    const path = `/${(made.json as Listed)._id}`
    const text = { type: 'BODY', text: 'Bye' }
    expect((await rest('PUT', path, { components: [text] })).json).toMatchObject({ components: [text] })
    expect((await rest('DELETE', path)).json).toMatchObject({ deleted: true })
    expect([await listed('spring'), (await rest('GET', path)).status]).toEqual([[], 404])
  })

  test('are shown as a person sees them, and whether they would be sent', async () => {
    const [update] = await listed('order_update')
    const path = `/${update?._id}/preview`
    expect((await rest('POST', path, { variables: ['Ana', '7'] })).json).toEqual({
      ...{ body: 'Hello Ana, 7!', buttons: [], fits: true },
    })
    expect((await rest('POST', path, {})).json).toMatchObject({
      ...{ body: 'Hello {{1}}, {{2}}!', fits: false },
      reason: expect.stringContaining('body needs 2 parameters, and has 0'),
    })
    expect((await rest('POST', path, { variables: 7 })).status).toBe(422)
  })
})

describe('a message of a template that is known', () => {
  beforeAll(async () => {
    await rest('POST', '/sync')
  })

  test.each([
    ['its button', { template: 'login_code', language: 'pt_BR', variables: ['123456'] }, 'button 0 needs'],
    [
      'its document',
      { template: 'invoice', language: 'pt_BR', variables: ['Ana'] },
      'header needs a document',
    ],
    [
      'its name',
      { template: 'invoice_named', language: 'pt_BR', variables: ['Ana'] },
      'body needs customer_name',
    ],
    [
      'a parameter',
      { template: 'order_update', language: 'pt_BR', variables: ['Ana'] },
      'body needs 2 parameters',
    ],
  ])('is dead at once without %s', async (_what, args, reason) => {
    const seen = await (await send(args)).ended('dead', 'sent')
    expect(seen).toMatchObject({ state: 'dead', fault: 'caller', reason: expect.stringContaining(reason) })
    expect(seen.attempts.map(({ code }) => code)).toEqual(['template_mismatch'])
  })

  const url = { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: '123456' }] }
  test.each([
    ['a button', { template: 'login_code', language: 'pt_BR', variables: ['123456'], components: [url] }],
    [
      'a document',
      {
        ...{ template: 'invoice', language: 'pt_BR', variables: ['Ana'] },
        header: { document: { link: 'https://example.com/a.pdf', filename: 'a.pdf' } },
      },
    ],
    ['a name', { template: 'invoice_named', language: 'pt_BR', variables: { customer_name: 'Ana' } }],
    ['nothing that is known', { template: 'of_nobody', language: 'pt_BR', variables: ['1', '2', '3'] }],
  ])('leaves with %s', async (_what, args) => {
    await (await send(args)).ended('sent')
  })

  test('is dead in a language that it has not', async () => {
    const seen = await (await send({ template: 'hello_world', language: 'pt_BR', variables: [] })).ended(
      'dead',
    )
    expect(seen.attempts).toMatchObject([{ code: 'template_language' }])
  })

  test('waits while it is paused, is sent once it is not, and is dead once it is disabled', async () => {
    const hook = `${parley.services.webhook.url}/api/hooks/whatsapp/${caller.workspace.namespace}/line`
    const state = (status: string) =>
      simulate('template-state', { name: 'welcome_offer', status, phoneNumberId: NUMBER })
    const args = { template: 'welcome_offer', language: 'pt_BR', variables: ['Ana', '20%'] }
    const isKnownAs = (status: string) =>
      eventually(
        async () => (await listed('welcome_offer')).every((one) => one.status === status) || undefined,
      )
    await simulate('webhook', { phoneNumberId: NUMBER, url: hook, appSecret: 'app-secret' })
    await state('PAUSED')
    await isKnownAs('PAUSED')
    const paused = await send(args)
    await eventually(
      async () => (await paused.ended('handled', 'received')).waitingFor === 'template' || undefined,
    )
    await state('APPROVED')
    await paused.ended('sent', 'delivered')
    await state('DISABLED')
    await isKnownAs('DISABLED')
    // Until the dispatcher knows it, too, it is the provider that refuses.
    await eventually(async () => {
      const { fault, attempts } = await (await send(args)).ended('dead')
      expect(fault).toBe('channel')
      return attempts.at(-1)?.code === 'template_disabled' || undefined
    })
  }, 60_000)
})
