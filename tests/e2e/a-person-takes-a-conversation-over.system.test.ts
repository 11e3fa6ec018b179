import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

let system: AssistantSystem
let clinic: Clinic

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'taken-over')
})
afterAll(async () => {
  await clinic.close()
  await system.close()
})

const handOff = { calls: [{ name: 'handOff', arguments: { reason: 'The person asked for somebody.' } }] }

describe('a conversation over WhatsApp', () => {
  test('is a person’s after the assistant hands it over, who replies and gives it back', async () => {
    await clinic.script({ text: 'Hello Joana!' }, handOff)
    await clinic.ask('Hello')
    expect(await clinic.ask('I want a person')).toMatchObject({ state: 'done', reason: 'handed_off' })
    const thread: Parsed = await eventually(async () => {
      const { data } = (await clinic.call('GET', '/rest/threads?handler=person&unread=true')) as Parsed
      return data[0]
    })
    expect(thread).toMatchObject({ user: { name: 'Joana' }, unread: 1, handler: 'person' })
    expect(Date.parse(thread.serviceWindowEndsAt)).toBeGreaterThan(Date.now())
    const path = `/rest/threads/${thread._id}`
    expect(await clinic.ask('Is anybody there?')).toMatchObject({
      state: 'done',
      reason: 'handler_is_person',
    })
    await clinic.call('POST', `${path}/messages`, { text: 'Bob here. What can I do?' })
    await eventually(async () => (await clinic.texts()).at(-1) === 'Bob here. What can I do?')
    expect(await clinic.call('PATCH', path, { handler: 'assistant', unread: 0 })).toMatchObject({
      handler: 'assistant',
      unread: 0,
    })
    await clinic.script({ text: 'Here I am again.' })
    await clinic.ask('Thanks, bye')
    expect(await clinic.texts()).toEqual(['Hello Joana!', 'Bob here. What can I do?', 'Here I am again.'])
    const { data } = (await clinic.call('GET', `${path}/messages`)) as Parsed
    expect(data.map(({ from }: Parsed) => from)).toEqual([
      ...['person', 'assistant', 'person', 'person', 'team', 'person', 'assistant'],
    ])
  })
})
