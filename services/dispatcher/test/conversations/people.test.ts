import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { text } from '../rpc-line.ts'
import { lineOfThreads, type SeenThread, said } from './line-of-threads.ts'

const line = lineOfThreads()
const DAY_MS = 24 * 60 * 60 * 1_000
const whatsapp = (more: Record<string, unknown> = {}) =>
  line.rpc({
    extId: 'wa',
    callback: 'whatsapp',
    config: { phoneNumberId: '1', accessToken: 't', apiUrl: line.endpoint.url },
    ...more,
  })
const sentTexts = () =>
  line.endpoint.calls.filter(({ path }) => path === '/callback').map(({ json }) => json.text)

test('what ended without an answer is not unread any more once it is run again and answered', async () => {
  line.endpoint.respond = (_call, res) => void res.writeHead(410).end()
  await line.world.post('mended', said('one', 'mended'))
  await line.world.message('mended', 'dead')
  await line.listed('?unread=true', ([thread]) => thread?.extId === 'mended' && thread.unread === 1)
  line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{}')
  await line.world.call('POST', '/rest/messages/mended/replay')
  await line.world.message('mended', 'delivered')
  await line.listed('?unread=true', (threads) => threads.length === 0)
  expect(await line.read('mended')).not.toHaveProperty('unreadFor')
})

describe('a thread that a person has', () => {
  test('has what comes in counted as unread and not answered, until it is given back', async () => {
    await line.world.post('p-1', said('one', 'taken'))
    await line.world.message('p-1', 'delivered')
    expect(await line.change('taken', { handler: 'person' })).toMatchObject({ handler: 'person', unread: 0 })
    await line.world.post('p-2', said('two', 'taken'))
    await line.world.post('p-3', said('three', 'taken'))
    expect(await line.world.message('p-3', 'done')).toMatchObject({ reason: 'handler_is_person' })
    const [listed] = await line.listed(
      '?unread=true',
      ([thread]) => thread?.unread === 2 && thread.lastMessage === 'three',
    )
    expect(listed).toMatchObject({ extId: 'taken', handler: 'person', lastMessage: 'three' })
    expect((await line.list('?handler=person')).data).toHaveLength(1)
    expect(await line.change('taken', { unread: 0 })).toMatchObject({ unread: 0 })
    expect((await line.list('?unread=true')).data).toEqual([])
    await line.change('taken', { handler: 'assistant' })
    await line.world.post('p-4', said('four', 'taken'))
    await line.world.message('p-4', 'delivered')
    expect(sentTexts()).toEqual(['one', 'four'])
  })

  test('still gets what callers of the API answer', async () => {
    await line.world.post('a-1', said('one', 'answered'))
    await line.world.message('a-1', 'delivered')
    await line.change('answered', { handler: 'person' })
    await line.world.post('a-2', text('From the API', 'answered'))
    await line.world.message('a-2', 'delivered')
    expect(sentTexts()).toEqual(['one', 'From the API'])
  })

  test('is not answered by what waits for its next try, which ends at once', async () => {
    line.endpoint.respond = (_call, res) => void res.writeHead(503, { 'retry-after': '3600' }).end()
    await line.world.post('w-1', said('one', 'waiting'))
    await eventually(async () => {
      const { json } = await line.world.get('/rest/messages/w-1')
      return (json as { due?: string }).due
    })
    line.endpoint.forget()
    await line.change('waiting', { handler: 'person' })
    expect(await line.world.message('w-1', 'done')).toMatchObject({ reason: 'handler_is_person' })
    const { json } = await line.reply('waiting', { text: 'A person here' })
    await line.world.message((json as { _id: string })._id, 'delivered')
    expect(sentTexts()).toEqual(['A person here'])
  })

  test('is taken over while its handler works: the answer is not sent', async () => {
    await line.world.putChannel(5, line.rpc({ extId: 'handled', handlerUrl: `${line.endpoint.url}/handler` }))
    const asked = Promise.withResolvers<() => void>()
    line.endpoint.respond = ({ path }, res) => {
      if (path !== '/handler') return void res.writeHead(200).end('{}')
      asked.resolve(() => res.writeHead(200).end('{"answer":{"message":"too late"}}'))
    }
    await line.world.post('h-1', { ...said('one', 'in-work'), extId: 'handled' })
    const answer = await asked.promise
    await line.change('in-work', { handler: 'person' })
    answer()
    expect(await line.world.message('h-1', 'done')).toMatchObject({ reason: 'handler_is_person' })
    expect(sentTexts()).toEqual([])
  })

  test('gets nothing of an answer that failed before they took over and is run again, but what callers answered', async () => {
    const fails = (json: { text?: string }) => json.text?.startsWith('fails') === true
    line.endpoint.respond = ({ json }, res) => void res.writeHead(fails(json) ? 410 : 200).end('{}')
    await line.world.post('again-1', said('fails', 'again'))
    await line.world.post('again-2', text('fails too', 'again'))
    for (const id of ['again-1', 'again-2']) await line.world.message(id, 'dead')
    await line.change('again', { handler: 'person' })
    line.endpoint.forget()
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{}')
    for (const id of ['again-1', 'again-2']) await line.world.call('POST', `/rest/messages/${id}/replay`)
    expect(await line.world.message('again-1', 'done')).toMatchObject({ reason: 'handler_is_person' })
    await line.world.message('again-2', 'delivered')
    expect(sentTexts()).toEqual(['fails too'])
  })

  test('is answered by what failed after they took over and is run again, once they have given it back', async () => {
    const messages = line.world.database.collection<{ _id: string }>('messages')
    for (const id of ['back-1', 'back-2']) {
      const sending = Promise.withResolvers<() => void>()
      line.endpoint.respond = (_call, res) => sending.resolve(() => void res.writeHead(400).end())
      await line.world.post(id, said(id, id))
      const refuse = await sending.promise
      const stored = (more: object) =>
        eventually(async () => (await messages.findOne({ _id: id, ...more })) ?? undefined)
      await stored({})
      const taken = line.change(id, { handler: 'person' })
      await stored({ takenOver: { $exists: true } })
      refuse()
      await taken
      await line.world.message(id, 'dead')
    }
    line.endpoint.forget()
    await line.change('back-1', { handler: 'assistant' })
    for (const id of ['back-1', 'back-2']) await line.world.call('POST', `/rest/messages/${id}/replay`)
    await line.world.message('back-1', 'delivered')
    expect(await line.world.message('back-2', 'done')).toMatchObject({ reason: 'handler_is_person' })
    expect(sentTexts()).toEqual(['back-1'])
  })

  test.each([{}, { handler: 'nobody' }, { unread: 1 }, { name: 'x' }])(
    'is not changed by %j',
    async (change) => {
      await line.world.post('x-1', said('one', 'unchanged'))
      await line.world.message('x-1', 'delivered')
      expect((await line.world.call('PATCH', '/rest/threads/unchanged', change)).status).toBe(422)
    },
  )
})

describe('a reply', () => {
  test('is sent in the order of its thread, once for each key, and leaves the thread with whom it is', async () => {
    await line.world.post('r-1', said('one', 'replied', { name: 'Ana', phone: '+551' }))
    await line.world.message('r-1', 'delivered')
    const key = { 'idempotency-key': 'the-same' }
    const first = await line.reply('replied', { text: 'Hello from Bob' }, key)
    const again = await line.reply('replied', { text: 'Hello from Bob' }, key)
    expect(first.status).toBe(200)
    expect(again).toEqual(first)
    expect(await line.reply('replied', { text: 'Something else' }, key)).toMatchObject({
      status: 422,
      json: { code: 'idempotency_key_reused' },
    })
    const template = await line.reply('replied', { template: 'order', variables: ['7'], language: 'en' })
    await line.world.message((template.json as { _id: string })._id, 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.text ?? json.template)).toEqual([
      'one',
      'Hello from Bob',
      'order',
    ])
    expect(line.endpoint.calls[1]?.json).toMatchObject({ user: { name: 'Ana', phone: '+551' } })
    const { data } = await line.conversation('replied')
    expect(data.map(({ from }) => from)).toEqual(['person', 'assistant', 'team', 'team'])
    expect(data[2]).toMatchObject({
      text: 'Hello from Bob',
      state: 'delivered',
      by: { name: expect.any(String) },
    })
    expect(await line.read('replied')).toMatchObject({ handler: 'assistant' })
  })

  test('may be a message object of the Cloud API, whose recipient is the thread’s person', async () => {
    await line.world.putChannel(3, whatsapp())
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{"messages":[{"id":"wamid.1"}]}')
    await line.world.post('o-1', { ...said('hello', 'object'), extId: 'wa' })
    await line.world.message('o-1', 'sent')
    const image = { type: 'image', image: { link: 'https://example.org/a.png', caption: 'A map' } }
    const { json } = await line.reply('object', { whatsapp: image })
    await line.world.message((json as { _id: string })._id, 'sent')
    expect(line.endpoint.calls.at(-1)?.json).toMatchObject({
      ...image,
      to: '5511999990000',
      messaging_product: 'whatsapp',
    })
    expect((await line.conversation('object')).data.at(-1)).toMatchObject({ from: 'team', whatsapp: image })
  })

  test.each([
    { whatsapp: { type: 'image', image: {}, to: '1' } },
    { whatsapp: { type: 'nothing' } },
    { whatsapp: { type: 'image' } },
    { whatsapp: { type: 'image', image: {} }, text: 'x' },
    { text: '' },
    { template: 'x' },
    {},
  ])('like %j is refused', async (reply) => {
    await line.world.post('n-1', said('one', 'refused'))
    await line.world.message('n-1', 'delivered')
    expect((await line.reply('refused', reply)).status).toBe(422)
  })

  test('of a template may have all that its provider takes, and what that does not is named', async () => {
    await line.world.putChannel(3, whatsapp())
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{"messages":[{"id":"wamid.1"}]}')
    await line.world.post('t-1', { ...said('hello', 'whole', { phone: '+5511555' }), extId: 'wa' })
    await line.world.message('t-1', 'sent')
    const template = { template: 'invoice', language: 'en', variables: { name: 'Ana' } }
    const header = { document: { link: 'https://example.com/a.pdf', filename: 'a.pdf' } }
    const { json } = await line.reply('whole', { ...template, header })
    const { sends } = await line.world.message((json as { _id: string })._id, 'sent')
    expect(sends).toMatchObject([
      { content: { kind: 'object', type: 'template', object: { template: { name: 'invoice' } } } },
    ])
    const { data } = await line.conversation('whole')
    expect(data.at(-1)).toMatchObject({ from: 'team', whatsapp: { template: { name: 'invoice' } } })
    const wrong = { ...template, header: { document: { ...header.document, pages: 3 } } }
    expect(await line.reply('whole', wrong)).toMatchObject({
      status: 422,
      json: { errors: [{ path: '/header/document/pages', code: 'not_understood' }] },
    })
  })

  test('is not what callers post under its name', async () => {
    const args = { whatsapp: { type: 'text', text: { body: 'forged' } } }
    const answer = { functions: [{ name: 'whatsapp', args }] }
    await line.world.post('forged', { ...said('x', 'forged'), answer, reply: { by: { name: 'Eve' } } })
    expect(await line.world.message('forged', 'dead')).toMatchObject({ sends: [] })
    expect(line.endpoint.calls).toEqual([])
  })
})

describe('the window of WhatsApp for free text', () => {
  const later = async (thread: string) => {
    const long = new Date(Date.now() - DAY_MS - 60_000)
    await line.world.database.collection('messages').updateMany({ thread }, { $set: { receivedAt: long } })
    await line.world.database
      .collection('threads')
      .updateMany({ extId: thread }, { $set: { lastInboundAt: long } })
  }

  test('closes 24 hours after the last message of the person; templates go out at any time', async () => {
    await line.world.putChannel(3, whatsapp())
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{"messages":[{"id":"wamid.1"}]}')
    await line.world.post('s-1', { ...said('hello', 'window', { phone: '+5511777' }), extId: 'wa' })
    await line.world.message('s-1', 'sent')
    const [open] = await line.listed('?q=5511777', ([thread]) => Boolean(thread?.serviceWindowEndsAt))
    expect(Date.parse((open as SeenThread).serviceWindowEndsAt ?? '')).toBeGreaterThan(
      Date.now() + DAY_MS - 120_000,
    )
    await later('window')
    line.endpoint.calls = []
    const { json } = await line.reply('window', { text: 'Too late' })
    const dead = await line.world.message((json as { _id: string })._id, 'dead')
    expect(dead).toMatchObject({ fault: 'caller', attempts: [{ code: 'outside_service_window' }] })
    expect(line.endpoint.calls).toEqual([])
    const template = await line.reply('window', { template: 'order', language: 'en' })
    await line.world.message((template.json as { _id: string })._id, 'sent')
  })

  test('is the provider’s to know where no message of the person was seen', async () => {
    await line.world.putChannel(3, whatsapp())
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{"messages":[{"id":"wamid.1"}]}')
    const message = { ...text('Hi', 'unseen', 'wa'), user: { phone: '+5511666' } }
    await line.world.post('u-1', message)
    await line.world.message('u-1', 'sent')
    await later('unseen')
    await line.world.database
      .collection('threads')
      .updateMany({ extId: 'unseen' }, { $unset: { lastInboundAt: '' } })
    await line.world.post('u-2', message)
    await line.world.message('u-2', 'sent')
  })

  test('is open again for a person who wrote in another thread of the channel', async () => {
    await line.world.putChannel(3, whatsapp())
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{"messages":[{"id":"wamid.1"}]}')
    const person = { phone: '+5511444' }
    await line.world.post('o-old', { ...said('hello', 'old', person), extId: 'wa' })
    await line.world.message('o-old', 'sent')
    await line.listed('?q=5511444', (threads) => threads.length === 1)
    await later('old')
    await line.world.post('o-new', { ...said('hello', 'new', person), extId: 'wa' })
    await line.world.message('o-new', 'sent')
    const { json } = await line.reply('old', { text: 'In time' })
    await line.world.message((json as { _id: string })._id, 'sent')
  })
})

describe('a thread that is erased', () => {
  test('by who may write one of its tasks leaves the other, and says so', async () => {
    for (const id of [3, 4])
      await line.world.put('tasks', id, {
        ...{ workflow: 1, currentStep: 1, status: 'active', name: 'Order', description: '' },
        ...{ extId: 'of-two', context: { secret: 'of the person' } },
      })
    await line.world.post('of-two', said('my secret', 'of-two'))
    await line.world.message('of-two', 'delivered')
    await line.listed('', (threads) => threads.some(({ extId }) => extId === 'of-two'))
    const permissions = [
      { schema: "{{resource}} != 'tasks'", read: 'true', write: 'true' },
      { schema: "{{resource}} == 'tasks'", read: 'true', write: '{{doc._id}} == 3' },
    ]
    const headers = await line.world.inRole(permissions)
    const erased = await line.world.call('DELETE', '/rest/threads/of-two', undefined, headers)
    expect(erased).toMatchObject({ status: 200, json: { deleted: true, tasksLeft: 1 } })
    expect(await line.world.read('tasks', 3)).toMatchObject({ context: {} })
    expect(await line.world.read('tasks', 4)).toMatchObject({ context: { secret: 'of the person' } })
  })

  test('is gone with its messages and the context of its task, and counts as before', async () => {
    await line.world.put('tasks', 2, {
      workflow: 1,
      currentStep: 1,
      status: 'active',
      name: 'Order',
      description: '',
      extId: 'erased',
      context: { secret: 'of the person' },
    })
    await line.world.post('e-1', said('my secret', 'erased'))
    await line.world.message('e-1', 'delivered')
    const audited = line.world.database.collection<{ _id: string }>('audited')
    await eventually(async () => ((await audited.findOne({ _id: 'e-1' })) === null ? undefined : true))
    // Messages of another channel were dated back, and so count in another hour than the audit found them in.
    const count = () => line.world.get('/rest/messages/conservation?channel=line')
    const before = await count()
    const { _id } = await line.read('erased')
    expect(await line.world.call('DELETE', '/rest/threads/erased')).toMatchObject({
      status: 200,
      json: { _id, deleted: true },
    })
    expect((await line.world.get('/rest/threads/erased')).status).toBe(404)
    expect((await line.world.get('/rest/messages/e-1')).status).toBe(404)
    expect((await line.world.get('/rest/messages?thread=erased')).json).toEqual({ data: [], next: null })
    expect(await line.world.read('tasks', 2)).toMatchObject({ context: {}, status: 'active' })
    const { accepted, delivered, difference } = before.json as Record<string, number>
    expect(difference).toBe(0)
    expect((await count()).json).toMatchObject({ accepted, delivered, difference })
    const collections = await line.world.database.collections()
    for (const collection of collections)
      expect(JSON.stringify(await collection.find({}).toArray())).not.toContain('my secret')
    expect(await audited.findOne({ _id: 'e-1' })).toMatchObject({ place: 'erased' })
    await line.world.post('e-2', said('again', 'erased'))
    await line.world.message('e-2', 'delivered')
    await line.listed('', (threads) => threads.some(({ lastMessage }) => lastMessage === 'again'))
    expect((await line.conversation('erased')).data).toHaveLength(2)
  })
})
