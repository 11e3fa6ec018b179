import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type EventReceiver, startEventReceiver } from '../../../../tests/lab/system/receivers.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let receiver: EventReceiver
beforeAll(async () => {
  world = await startDispatchWorld()
  receiver = await startEventReceiver()
})
afterAll(async () => {
  await world.close()
  await receiver.close()
})

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const step = { name: 'x', description: '', instructions: '', submitWhen: '' }

test('what instances of the dispatcher find is delivered once, also when one of them ends', async () => {
  receiver.secret = SECRET
  const events = ['configuration.steps.created', 'message.received']
  const body = { name: '', url: receiver.url, events, signingSecret: SECRET }
  const second = await world.startDispatcher()
  await world.put('subscriptions', 1, body)
  await world.call('POST', '/rest/subscriptions/1/test')
  await eventually(() => receiver.events.some(({ type }) => type === 'subscription.test'))
  for (let id = 1; id <= 40; id++) {
    await world.put('steps', id, step)
    await world.post(`m-${id}`, {
      extId: 'none',
      user: {},
      thread: { extId: `t${id % 4}` },
      answer: { message: 'x' },
    })
    if (id === 20) await second.close()
  }
  const named = () => receiver.events.map(({ type, data }) => `${type} ${data._id}`)
  const expected = Array.from({ length: 40 }, (_, n) => [
    `configuration.steps.created ${n + 1}`,
    `message.received m-${n + 1}`,
  ]).flat()
  await eventually(() => expected.every((name) => named().includes(name)))
  expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(81)
  for (const thread of ['t0', 't1', 't2', 't3']) {
    const order = receiver.events
      .filter(({ data }) => data.thread === thread)
      .map(({ data }) => Number(String(data._id).slice(2)))
    expect(order).toEqual(order.toSorted((one, other) => one - other))
  }
})

test('what waits for a receiver is counted until it has it', async () => {
  const waiting = async () => [...(await world.metric('parley_event_deliveries_waiting')).values()][0] ?? 0
  expect([...(await world.metric('parley_event_relay_lag_seconds')).values()]).toHaveLength(1)
  receiver.answer = () => 500
  await world.put('steps', 101, step)
  await eventually(async () => (await waiting()) > 0)
  receiver.answer = () => 200
  await eventually(async () => (await waiting()) === 0)
})
