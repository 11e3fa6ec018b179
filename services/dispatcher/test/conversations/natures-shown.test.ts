import { expect, test } from '@jest/globals'
import { derivedMessageId } from '@parley/shared/messaging/message-publication'
import { lineOfThreads } from './line-of-threads.ts'

const line = lineOfThreads()
let number = 0

/** A thread of a person, and what comes to it from the provider. */
function newThread(channel = 'line') {
  const thread = `49170${number++}`
  const receive = async (meta: { id: string } & Record<string, unknown>, input?: string) => {
    const id = `${meta.id}-${thread}`
    const { workspace } = line.world
    const messageId = derivedMessageId({ source: 'meta', workspace, channel, id })
    const message = { extId: channel, user: { phone: thread }, thread: { extId: thread }, answer: {} }
    const body = { ...message, ...(input !== undefined && { input }), meta: { ...meta, id } }
    await line.world.post(messageId, body, { source: 'meta' })
    return messageId
  }
  const said = async (id: string, body: string, more: object = {}) => {
    const messageId = await receive({ id, type: 'text', text: { body }, ...more }, body)
    await line.world.message(messageId, 'delivered', 'done')
    return messageId
  }
  const ended = async (meta: { id: string } & Record<string, unknown>) =>
    line.world.message(await receive(meta), 'done')
  return { thread, of: (id: string) => `${id}-${thread}`, receive, said, ended }
}

const shown = async (thread: string) =>
  (await line.conversation(thread)).data.map(({ from, text, ...entry }) => {
    const { quoted, edited, deleted, through } = entry as Record<string, unknown>
    const marks = { quoted: (quoted as { text: string } | undefined)?.text, edited, deleted, through }
    return [
      from,
      text,
      ...Object.entries(marks).flatMap(([mark, value]) => (value ? [`${mark}: ${value}`] : [])),
    ]
  })

test('people read edits, deletions, replies and notices as what they are, and the list of threads too', async () => {
  const { thread, of, said, ended } = newThread()
  await said('t1', 'send 10 boxes')
  const edit = { original_message_id: of('t1'), message: { type: 'text', text: { body: 'send 1 box' } } }
  await ended({ id: 'e', type: 'edit', edit })
  await said('t2', 'a secret')
  await ended({ id: 'r', type: 'revoke', revoke: { original_message_id: of('t2') } })
  await said('t3', 'this one', { context: { id: of('t1') } })
  await ended({ id: 'n', type: 'unsupported', unsupported: { type: 'poll_creation' } })
  expect(await shown(thread)).toEqual([
    ['person', 'send 1 box', 'edited: true'],
    ['assistant', 'send 10 boxes'],
    ['person', undefined, 'deleted: true'],
    ['assistant', 'a secret'],
    ['person', 'this one', 'quoted: send 1 box'],
    ['assistant', 'this one'],
    ['provider', "can't be shown here: poll"],
  ])
  const [listed] = await line.listed('', ([first]) => first?.lastMessage === "[can't be shown here: poll]")
  expect(listed).toMatchObject({ extId: thread, unread: 0 })
})

test('the last message of a thread is listed as it was edited, and as deleted', async () => {
  const { thread, of, said, ended } = newThread()
  await line.change(await opened(thread, said), { handler: 'person' })
  await said('t1', 'at 3')
  const edit = { original_message_id: of('t1'), message: { type: 'text', text: { body: 'at 4' } } }
  await ended({ id: 'e', type: 'edit', edit })
  await line.listed('', ([first]) => first?.lastMessage === 'at 4')
  await ended({ id: 'r', type: 'revoke', revoke: { original_message_id: of('t1') } })
  await line.listed('', ([first]) => first?.lastMessage === '[deleted]')
})

test('what the business writes in its app is the team’s, is not unread, opens no window, and gives the thread to a person for a while', async () => {
  const { thread, said } = newThread()
  await said('e', 'Pedro here', { webhook_field: 'smb_message_echoes' })
  await line.listed('', ([first]) => first?.lastMessage === 'Pedro here')
  const listed = (await line.list('?handler=person')).data.find(({ extId }) => extId === thread)
  expect(listed).toMatchObject({ handler: 'person', unread: 0, serviceWindowEndsAt: null })
  expect(listed).toHaveProperty('handlerUntil')
  expect(await shown(thread)).toEqual([['team', 'Pedro here', 'through: app']])
  const last = await said('t', 'Great')
  expect((await line.world.message(last, 'done')).reason).toBe('handler_is_person')
  await line.listed('?unread=true', (all) => all.some(({ extId }) => extId === thread))
  const given = await line.change(thread, { handler: 'assistant' })
  expect(given).not.toHaveProperty('handlerUntil')
  await said('t2', 'Hello?')
  expect((await shown(thread)).at(-1)).toEqual(['assistant', 'Hello?'])
})

test('history is read in its place, without an answer, without unread and without a window', async () => {
  const { thread, said } = newThread()
  const past = { webhook_field: 'history' }
  await said('h2', 'Hello Ana', { ...past, to: thread, timestamp: '1700000200' })
  await said('h1', 'Hi!', { ...past, timestamp: '1700000100' })
  await line.listed('', (all) => all.some(({ extId }) => extId === thread))
  expect(await shown(thread)).toEqual([
    ['person', 'Hi!'],
    ['team', 'Hello Ana', 'through: app'],
  ])
  expect(await line.read(thread)).toMatchObject({
    ...{ handler: 'assistant', unread: 0, serviceWindowEndsAt: null },
    ...{ lastMessage: 'Hello Ana', lastAt: '2023-11-14T22:16:40.000Z' },
  })
})

test('a contact of the business has its name there, and is found by it, also once the person has written', async () => {
  const { thread, said, ended } = newThread()
  const contact = { full_name: 'Joana $Prado', phone_number: thread }
  const sync = { type: 'contact', action: 'add', contact, webhook_field: 'smb_app_state_sync' }
  await ended({ id: 'c', ...sync })
  const found = async () => (await line.list('?q=prado')).data.map(({ extId, user }) => [extId, user.name])
  expect(await found()).toEqual([[thread, 'Joana $Prado']])
  expect(await shown(thread)).toEqual([])
  await said('t', 'Hello')
  await line.listed('', ([first]) => first?.lastMessage === 'Hello')
  expect(await found()).toEqual([[thread, 'Joana $Prado']])
})

test('a handler over HTTP gets what a message replies to, and nothing that was deleted before', async () => {
  const handlerUrl = `${line.endpoint.url}/handler`
  await line.world.putChannel(2, line.rpc({ extId: 'handled', handlerUrl }))
  const gate = Promise.withResolvers<void>()
  line.endpoint.respond = ({ path, json }, res) => {
    const answer = () => void res.end(JSON.stringify({ answer: { message: `to ${json.input}` } }))
    if (path === '/handler' && json.input === 'slow') void gate.promise.then(answer)
    else answer()
  }
  const { of, said, ended, receive } = newThread('handled')
  await said('t1', 'Where is it?')
  await said('t2', 'Well?', { context: { id: of('t1') } })
  await receive({ id: 't3', type: 'text' }, 'slow')
  const secret = await receive({ id: 't4', type: 'text' }, 'a secret')
  await ended({ id: 'r', type: 'revoke', revoke: { original_message_id: of('t4') } })
  gate.resolve()
  expect((await line.world.message(secret, 'done')).reason).toBe('deleted')
  const asked = line.endpoint.calls.filter(({ path }) => path === '/handler').map(({ json }) => json)
  expect(asked.map(({ input, quoted }) => [input, quoted?.text, quoted?.from])).toEqual([
    ['Where is it?', undefined, undefined],
    ['Well?', 'Where is it?', 'person'],
    ['slow', undefined, undefined],
  ])
})

/** A thread that is there, by its name. */
async function opened(thread: string, said: (id: string, body: string) => Promise<string>): Promise<string> {
  await said('t0', 'Hello')
  await line.listed('', (all) => all.some(({ extId }) => extId === thread))
  return thread
}
