import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createParley, type ServerEvent } from '@parley/client'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

const RESPONSE = 'Good morning, this is the clinic. When would you like to come?'

let system: AssistantSystem
let clinic: Clinic
let events: ServerEvent[]
const ending = new AbortController()

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'spoken')
  const client = createParley({ url: system.parley.url, token: clinic.token })
  const opened = Promise.withResolvers<void>()
  const follow = async () => {
    const { signal } = ending
    for await (const event of client.events('/rest/events', { signal, onOpen: opened.resolve }))
      events.push(event)
  }
  events = []
  void follow().catch(opened.reject)
  await opened.promise
})
beforeEach(() => clinic.script())
afterAll(async () => {
  ending.abort()
  await clinic.close()
  await system.close()
})

const of = (id: string) =>
  events.filter(({ data }) => {
    const { _id, message } = JSON.parse(data) as Parsed
    return (_id ?? message) === id
  })

async function responded(): Promise<string> {
  await clinic.script({ text: RESPONSE })
  const { _id } = await clinic.ask('Hello')
  await eventually(() => of(_id).some(({ data }) => JSON.parse(data).state === 'sent'))
  return _id
}

const setStreamResponseBy = async (streamResponseBy: string) => {
  const [channel] = ((await clinic.call('GET', '/rest/channels')) as Parsed).data
  await clinic.call('PATCH', `/rest/channels/${channel._id}`, { config: { streamResponseBy } })
}

test('by default a turn is not streamed', async () => {
  await setStreamResponseBy('turn')
  const id = await responded()
  expect(of(id).filter(({ event }) => event === 'delta')).toEqual([])
})

test('with streamResponseBy token what the model says comes before the state that it leads to', async () => {
  await setStreamResponseBy('token')
  // The dispatcher learns of the channel in a moment.
  const id = await eventually(async () => {
    const tried = await responded()
    return of(tried).some(({ event }) => event === 'delta') ? tried : undefined
  })
  const seen = of(id)
  const deltas = seen.filter(({ event }) => event === 'delta').map(({ data }) => JSON.parse(data) as Parsed)
  expect(deltas.map(({ text }) => text).join('')).toBe(RESPONSE)
  expect(deltas.map(({ turn }) => turn)).toEqual(deltas.map(() => 0))
  const lastDelta = seen.findLastIndex(({ event }) => event === 'delta')
  const sending = seen.findIndex(({ data }) => JSON.parse(data).state === 'sending')
  expect(lastDelta).toBeLessThan(sending)
})
