import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, payloadOf, postPayload } from './meta-payload.ts'

let world: IntakeWorld
let hook: string
beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(1, metaChannel('line'))
  hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line`
}, START_MS)
afterAll(() => world.close(), START_MS)

let number = 0
async function write(said: {
  from?: string
  from_user_id?: string
  [field: string]: unknown
}): Promise<void> {
  const message = {
    ...{ id: `wamid.${++number}`, timestamp: '1760000000', type: 'text', text: { body: 'x' } },
    ...said,
  }
  expect((await postPayload(hook, payloadOf({ messages: [message] }))).status).toBe(200)
}

test('only messages of a person who has several threads name those that joined, whatever was published before', async () => {
  await write({ from: '5511900000001' })
  await write({ from_user_id: 'BR.1' })
  await write({ from: '5511900000001', from_user_id: 'BR.1' })
  await write({ from: '5511900000002' })
  for (const phone of ['BR.1', '5511900000003'])
    await world.post({ extId: 'line', user: { phone }, thread: {}, answer: { message: 'x' } })
  const status = { id: 'wamid.s', status: 'read', timestamp: '1760000000', recipient_id: '5511900000004' }
  await postPayload(hook, payloadOf({ statuses: [status] }))
  const taken = await world.drain()
  const headers = taken.map(({ delivery }) => delivery.properties.headers ?? {})
  expect(headers.map(({ thread, joined }) => [thread, joined])).toEqual(
    expect.arrayContaining([
      ['5511900000001', undefined],
      ['BR.1', undefined],
      ['5511900000001', ['BR.1']],
      ['5511900000002', undefined],
      ['5511900000001', ['BR.1']],
      ['5511900000003', undefined],
      [undefined, undefined],
    ]),
  )
  expect(headers.filter(({ joined }) => joined !== undefined)).toHaveLength(2)
})

test('the message that says that a person has another number names the one that they left, and no other does', async () => {
  const [old, now] = ['5511900000011', '5511900000012']
  const system = { type: 'user_changed_number', body: 'Ana changed', wa_id: now }
  await write({ from: old })
  await write({ from: old, type: 'system', system })
  await write({ from: now })
  await world.post({ extId: 'line', user: { phone: now, left: [`phone:${now}`] }, thread: {}, answer: {} })
  const taken = await world.drain()
  const headers = taken.map(({ delivery }) => delivery.properties.headers ?? {})
  expect(headers.map(({ thread }) => thread)).toEqual(Array(4).fill(old))
  expect(headers.flatMap(({ left }) => left ?? [])).toEqual([`phone:${old}`])
})
