import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { writeAsPerson, writeInApp } from '@parley/local/simulator/client'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

let system: AssistantSystem
let clinic: Clinic
let people = 0

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'unspoken')
})
beforeEach(() => clinic.script())
afterAll(async () => {
  await clinic.close()
  await system.close()
})

/** Somebody who has not written yet. */
function newPerson() {
  const { phoneNumberId } = clinic.person
  const number = { simulatorUrl: system.simulatorUrl, phoneNumberId }
  const from = `4917012300${String(++people).padStart(2, '0')}`
  const write = (message: object, more: object = {}) =>
    writeAsPerson(number, { from, name: 'Ana', message, ...more })
  const said = (body: string, more: object = {}) => write({ type: 'text', text: { body }, ...more })
  const conversation = async (thread = from) => {
    const response = await clinic.request('GET', `/rest/threads/${thread}/messages`)
    const { data = [] } = (await response.json()) as Parsed
    return data as Parsed[]
  }
  /** Waits for an entry of the conversation. */
  const shown = (isSought: (entry: Parsed) => boolean, thread = from) =>
    eventually(async () => (await conversation(thread)).find(isSought))
  return { from, number, write, said, conversation, shown }
}

const sends = async (): Promise<Parsed[]> => {
  const { phoneNumberId } = clinic.person
  const url = `${system.simulatorUrl}/simulator/sends?phoneNumberId=${phoneNumberId}&limit=10000`
  return ((await (await fetch(url)).json()) as Parsed).data
}
const isResponse = ({ from, state }: Parsed) => from === 'assistant' && state !== 'pending'

test('what the business writes in its own app is in the conversation at once, and the assistant is silent then', async () => {
  const { from, number, said, conversation, shown } = newPerson()
  await writeInApp(number, { to: from, text: 'Hi, Pedro here, I will call you at 3.' })
  await shown(({ text, through }) => through === 'app' && text.startsWith('Hi, Pedro'))
  await said('Great, 3 it is')
  await shown(({ text, reason }) => text === 'Great, 3 it is' && reason === 'handler_is_person')
  expect((await conversation()).map((entry) => entry.from)).toEqual(['team', 'person'])
  expect([await clinic.requests(), (await sends()).filter(({ to }) => to === from)]).toEqual([[], []])
  const thread = async () => (await clinic.call('GET', `/rest/threads/${from}`)) as Parsed
  await eventually(async () => (await thread()).unread === 1)
  expect(await thread()).toMatchObject({ handler: 'person', serviceWindowEndsAt: expect.any(String) })
})

test('an edit after the answer is read by people and models, and is not answered', async () => {
  const { said, write, shown, conversation } = newPerson()
  const id = await said('send 10 boxes')
  await shown(isResponse)
  const message = { context: { id }, type: 'text', text: { body: 'send 1 box' } }
  await write({ type: 'edit', edit: { original_message_id: id, message } })
  await shown(({ text, edited }) => text === 'send 1 box' && edited)
  await said('When does it come?')
  await eventually(async () => (await conversation()).filter(isResponse).length === 2)
  const requests = await clinic.requests()
  expect(requests).toHaveLength(2)
  const read = requests[1].messages.filter(({ role }: Parsed) => role === 'user')
  expect(read.map(({ content }: Parsed) => content)).toContain('send 1 box')
  expect(JSON.stringify(read)).not.toContain('send 10 boxes')
})

test('notices ask nobody, open no window and are shown as what they are', async () => {
  const { from, write, shown, conversation } = newPerson()
  const errors = [{ code: 131051, title: 'Message type unknown' }]
  for (const _poll of [1, 2])
    await write({ type: 'unsupported', errors, unsupported: { type: 'poll_creation' } })
  await write({ type: 'interactive', interactive: { type: 'call_permission_reply' } })
  await write({ type: 'system', system: { type: 'customer_identity_changed', body: 'Ana has a new phone' } })
  await shown(({ text }) => text === 'Ana has a new phone')
  const poll = "can't be shown here: poll"
  const read = await conversation()
  expect(read.map((entry) => entry.from)).toEqual(Array(4).fill('provider'))
  expect(read.map(({ text }) => text).sort()).toEqual(
    [poll, poll, 'the person does not allow calls', 'Ana has a new phone'].sort(),
  )
  expect([await clinic.requests(), (await sends()).filter(({ to }) => to === from)]).toEqual([[], []])
  expect(await clinic.call('GET', `/rest/threads/${from}`)).toMatchObject({
    ...{ serviceWindowEndsAt: null, unread: 0 },
  })
})

test('a message of a group is answered in the group, and nowhere else', async () => {
  const { from, said, shown } = newPerson()
  const groupId = 'Y2FwaV9ncm91cDoxMjM'
  await said('hello all', { group_id: groupId })
  await shown(isResponse, groupId)
  const [request] = await clinic.requests()
  expect(request.messages.at(-1).content).toBe('Ana: hello all')
  const receivers = async () =>
    (await sends()).map(({ to }) => to).filter((to) => [from, groupId].includes(to))
  await eventually(async () => (await receivers()).length > 0)
  expect(await receivers()).toEqual([groupId])
})

test('a reply reaches the model with what it replies to, and the product that it is about', async () => {
  const { from, said, shown, conversation } = newPerson()
  await said('What do you offer?')
  await shown(isResponse)
  const offer = await eventually(async () => (await sends()).find(({ to }) => to === from))
  const referred_product = { catalog_id: '77', product_retailer_id: 'SKU-42' }
  await said('How much is this one?', { context: { from: '1', id: offer?.id, referred_product } })
  await eventually(async () => (await conversation()).filter(isResponse).length === 2)
  const read = (await clinic.requests()).at(-1).messages.at(-1).content
  expect(read.split('\n')).toEqual([
    'How much is this one?',
    '[It is about the product "SKU-42" of the catalogue "77".]',
    `[In reply to this message of yours: ${JSON.stringify(offer?.text)}]`,
  ])
  expect(await shown(({ text }) => text === 'How much is this one?')).toMatchObject({
    quoted: { from: 'business', text: offer?.text },
  })
})
