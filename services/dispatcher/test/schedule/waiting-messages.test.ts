import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

test('97 of 100 messages that wait show as 97, those behind others in their thread among them', async () => {
  const { world, endpoint } = line
  endpoint.respond = ({ json }, res) => {
    const taken = json.messageId.startsWith('taken')
    res.writeHead(taken ? 200 : 503, taken ? {} : { 'retry-after': '3600' }).end('{}')
  }
  const posted = [
    ...Array.from({ length: 3 }, (_, n) => ({ id: `taken-${n}`, thread: `taken-${n}` })),
    ...Array.from({ length: 60 }, (_, n) => ({ id: `refused-${n}`, thread: `refused-${n}` })),
    ...Array.from({ length: 37 }, (_, n) => ({ id: `behind-${n}`, thread: 'one' })),
  ]
  const before = Date.now()
  for (const { id, thread } of posted) await world.post(id, text('x', thread))
  const counts = await eventually(async () => {
    const found = await world.metric('parley_messages_waiting')
    return found.get('retry') === 61 && found.get('thread') === 36 ? found : undefined
  })
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(97)
  const oldest = await world.metric('parley_oldest_waiting_seconds')
  for (const reason of ['retry', 'thread']) {
    expect(oldest.get(reason)).toBeGreaterThan(0)
    expect(oldest.get(reason)).toBeLessThanOrEqual((Date.now() - before) / 1_000)
  }
  expect(oldest.get('rate')).toBe(0)
  expect(await countOf('parley_message_accepted_to_sent_seconds')).toBe(3)
  expect(await countOf('parley_message_accepted_to_delivered_seconds')).toBe(3)
})

/** How many were observed: everything is in the last bucket. */
const countOf = async (name: string) => (await line.world.metric(name)).get('+Inf')
