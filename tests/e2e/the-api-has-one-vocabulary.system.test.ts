import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'

let system: Parley
let token: string
let readOnly: string

beforeAll(async () => {
  system = await startParley()
  const person = { name: 'Ana Souza', email: 'ana@example.com', phone: '+5511999990000' }
  const body = { ...person, password: 'correct horse battery staple', namespace: 'acme' }
  token = (await call('POST', '/api/auth/register', { body })).json.accessToken
  const channel = { name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc' }
  await call('PUT', '/rest/channels/1', {
    body: { ...channel, handlerUrl: 'native:agents/echo', config: {} },
  })
  const limited = { name: 'reads', role: 'VIEWER', currentPassword: body.password }
  readOnly = (await call('POST', '/api/auth/tokens', { body: limited })).json.token
})
afterAll(() => system.close(), 60_000)

interface Sent {
  body?: unknown
  as?: string
  headers?: Record<string, string>
}

async function call(method: string, path: string, { body, as = token, headers }: Sent = {}) {
  const response = await fetch(system.url + path, {
    method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, json: (await response.json()) as Parsed }
}

/** A list of each service, and of each kind of cursor. */
const LISTS = ['/rest/users', '/rest/audit', '/rest/channels', '/rest/tasks', '/rest/hooks', '/rest/messages']

describe.each(LISTS)('%s', (path) => {
  test.each([
    ['limit=0', '/limit', 'invalid_parameter'],
    ['limit=201', '/limit', 'invalid_parameter'],
    ['limit=1e1', '/limit', 'invalid_parameter'],
    ['limit=', '/limit', 'invalid_parameter'],
    ['limit=5&limit=6', '/limit', 'repeated'],
    ['after=%7B%7D', '/after', 'invalid_cursor'],
    ['after=', '/after', 'invalid_cursor'],
    ['no~such/field=1', '/no~0such~1field', 'unknown_parameter'],
    ['__proto__=1', '/__proto__', 'unknown_parameter'],
  ])('refuses ?%s with an error at %s', async (query, pointer, code) => {
    const { status, json } = await call('GET', `${path}?${query}`)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
    expect(json.errors).toEqual([{ path: pointer, code, message: expect.any(String) }])
  })

  test('names every error of a query at once', async () => {
    const { json } = await call('GET', `${path}?limit=x&after=%7B%7D&typo=1`)
    const paths = json.errors.map((error: { path: string }) => error.path)
    expect(paths.toSorted()).toEqual(['/after', '/limit', '/typo'])
  })

  test('goes through all there is by pages of one', async () => {
    const whole = (await call('GET', `${path}?limit=200`)).json
    const found: unknown[] = []
    for (let after = ''; ; ) {
      const { json } = await call('GET', `${path}?limit=1${after}`)
      found.push(...json.data)
      if (json.next === null) break
      after = `&after=${json.next}`
    }
    expect([whole.next, found]).toEqual([null, whole.data])
  })
})

test.each([
  ['/rest/tasks?sort=context', '/sort'],
  ['/rest/tasks?sort=name&status=active', '/sort'],
  ['/rest/tasks?workflow=one', '/workflow'],
  ['/rest/tasks?_populate=name', '/_populate'],
  ['/rest/messages?from=yesterday', '/from'],
  ['/rest/messages?state=gone', '/state'],
  ['/rest/messages/conservation?to=tomorrow', '/to'],
  ['/rest/export?secrets=1', '/secrets'],
])('%s is refused at %s', async (path, pointer) => {
  const { status, json } = await call('GET', path)
  expect([status, json.errors]).toEqual([
    422,
    [{ path: pointer, code: 'invalid_parameter', message: expect.any(String) }],
  ])
})

test('a header that is wrong is named by a JSON Pointer', async () => {
  const sent = { body: message('wrong'), headers: { 'idempotency-key': 'é'.repeat(2) } }
  const { status, json } = await call('POST', '/api/hooks/whatsapp', sent)
  expect([status, json.errors[0].path]).toEqual([422, '/Idempotency-Key'])
})

const message = (thread: string) => ({
  extId: 'line',
  user: { name: 'João' },
  thread: { extId: thread },
  answer: { submit: {} },
})

describe('/rest/assistants', () => {
  const body = { name: 'Ana', description: '', backstory: '' }

  test('is the same collection as /rest/assistant, with all its operations', async () => {
    const { _id } = (await call('POST', '/rest/assistants', { body })).json
    expect((await call('GET', `/rest/assistant/${_id}`)).json).toMatchObject(body)
    expect((await call('PUT', '/rest/assistants/70', { body })).status).toBe(200)
    const changed = await call('PATCH', '/rest/assistants/70', { body: { name: 'Bo' } })
    expect(changed.json).toEqual((await call('GET', '/rest/assistant/70')).json)
    const lists = [await call('GET', '/rest/assistants'), await call('GET', '/rest/assistant')]
    expect(lists[0]?.json.data).toHaveLength(2)
    expect(lists[0]?.json).toEqual(lists[1]?.json)
    const history = await eventually(async () => {
      const { json } = await call('GET', '/rest/assistants/70/history')
      return json.data.length === 2 ? json : undefined
    })
    expect((await call('GET', '/rest/assistant/70/history')).json).toEqual(history)
    expect((await call('DELETE', '/rest/assistants/70')).json).toEqual({ _id: 70, deleted: true })
    expect((await call('GET', '/rest/assistant/70')).status).toBe(404)
  })

  test('takes the role that /rest/assistant takes', async () => {
    expect((await call('GET', '/rest/assistants', { as: readOnly })).status).toBe(200)
    expect((await call('POST', '/rest/assistants', { as: readOnly, body })).status).toBe(403)
    expect((await call('GET', '/rest/assistants', { as: 'nobody' })).status).toBe(401)
  })
})

describe('POST /rest/messages', () => {
  test('takes a message as the webhook does, and lists it with the id of its channel', async () => {
    const sent = { body: message('by-alias'), headers: { 'idempotency-key': 'one' } }
    const posted = await call('POST', '/rest/messages', sent)
    expect([posted.status, posted.json]).toEqual([200, sent.body])
    const again = await call('POST', '/api/hooks/whatsapp', sent)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const _id = posted.headers.get('x-message-id')
    expect(again.headers.get('x-message-id')).toBe(_id)
    const found = await eventually(async () => {
      const { json } = await call('GET', '/rest/messages?thread=by-alias')
      return json.data.length === 1 ? json.data[0] : undefined
    })
    expect(found).toMatchObject({ _id, channel: 'line' })
  })

  test('shows the id of the channel beside its name once the webhook knows the channel', async () => {
    const shown = await eventually(async () => {
      const posted = await call('POST', '/rest/messages', { body: message('known') })
      const path = `/rest/messages/${posted.headers.get('x-message-id')}`
      const stored = await eventually(async () => {
        const { status, json } = await call('GET', path)
        return status === 200 ? json : undefined
      })
      return stored.channelId === undefined ? undefined : stored
    })
    expect(shown).toMatchObject({ channel: 'line', channelId: 1 })
  })

  test('takes the role and the limits of the webhook', async () => {
    expect((await call('POST', '/rest/messages', { as: readOnly, body: message('no') })).status).toBe(403)
    expect((await call('POST', '/rest/messages', { as: 'nobody', body: message('no') })).status).toBe(401)
    const large = { ...message('large'), input: 'x'.repeat(1024 * 1024) }
    expect((await call('POST', '/rest/messages', { body: large })).status).toBe(413)
    const audio = { ...message('audio'), audio: Buffer.alloc(6 * 1024 * 1024).toString('base64') }
    expect((await call('POST', '/rest/messages', { body: audio })).status).toBe(200)
  })

  test('leaves reading messages, and other methods, as they are', async () => {
    expect((await call('GET', '/rest/messages?limit=1')).json.data).toHaveLength(1)
    const { status, headers } = await call('PUT', '/rest/messages', { body: {} })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST'])
  })
})
