import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel, metaMessage, postPayload, signatureOf } from './meta-payload.ts'
import type { Taken } from './take-queues.ts'

let world: IntakeWorld
const hookOf = (extId: string) => `${world.url}/api/hooks/whatsapp/${world.slug}/${extId}`
const text = { type: 'text', text: { body: 'x' } }
let count = 0

beforeAll(async () => {
  world = await startIntakeWorld()
  await world.putChannel(1, metaChannel('line-901', { phoneNumberId: '901' }))
  await world.putChannel(2, metaChannel('line-903', { phoneNumberId: '903' }))
  await world.putChannel(3, metaChannel('line-904', { phoneNumberId: '904', appSecret: 'of another app' }))
  await world.putChannel(4, metaChannel('line-905', { phoneNumberId: 905 }))
  await world.putChannel(5, metaChannel('line-906', { phoneNumberId: '906', appSecret: null }))
}, START_MS)
afterAll(() => world.close(), START_MS)

const changeOf = (number: string | undefined, value: object) => ({
  field: 'messages',
  value: { metadata: { phone_number_id: number }, ...value },
})
const payloadOf = (...changes: object[]) => ({
  object: 'whatsapp_business_account',
  entry: [{ id: '1', changes }],
})
const messageTo = (number: string | undefined, id = `wamid.${++count}`) =>
  changeOf(number, { messages: [metaMessage(id, text)] })
const statusOf = (number: string, id = `wamid.${++count}`) =>
  changeOf(number, { statuses: [{ id, status: 'sent', timestamp: '1760000000', recipient_id: '1' }] })
const lineOf = ({ delivery }: Taken) => ({
  channel: delivery.properties.headers?.channel,
  channelId: delivery.properties.headers?.channelId,
})

describe('what comes to one address', () => {
  test.each([
    ['its own number', '901', { channel: 'line-901', channelId: 1 }],
    ['no number', undefined, { channel: 'line-901', channelId: 1 }],
    ['another number of the workspace', '903', { channel: 'line-903', channelId: 2 }],
    ['a number that is stored as one', '905', { channel: 'line-905', channelId: 4 }],
  ])('for %s is of that channel', async (_name, number, expected) => {
    await world.drain()
    const answer = await postPayload(hookOf('line-901'), payloadOf(messageTo(number)))
    expect(answer.json).toEqual({ accepted: 1, repeated: 0, kept: 0, skipped: 0, foreign: 0 })
    const [taken] = await world.drain()
    expect(taken && [lineOf(taken), JSON.parse(taken.delivery.content.toString()).extId]).toEqual([
      expected,
      expected.channel,
    ])
  })

  test.each([
    ['a number that no channel has', '999'],
    ['a number whose channel has another secret', '904'],
    ['a number whose channel has no secret', '906'],
    ['a number with a name beyond all bounds', '9'.repeat(2_000)],
  ])('for %s is foreign, whatever it is, and nothing of it is published', async (_name, number) => {
    await world.drain()
    const notice = { field: 'user_preferences', value: changeOf(number, { user_preferences: [{}] }).value }
    const payload = payloadOf(messageTo(number), statusOf(number), notice)
    const answer = await postPayload(hookOf('line-901'), payload)
    expect(answer.json).toEqual({ accepted: 0, repeated: 0, kept: 0, skipped: 0, foreign: 3 })
    expect(await world.drain()).toEqual([])
  })

  test('is one message through whichever address it comes', async () => {
    await world.drain()
    const payload = payloadOf(messageTo('903', 'wamid.twice'), statusOf('903', 'wamid.status'))
    expect((await postPayload(hookOf('line-901'), payload)).json).toMatchObject({ accepted: 2 })
    expect((await postPayload(hookOf('line-903'), payload)).json).toMatchObject({ accepted: 0, repeated: 2 })
    expect(await world.drain()).toHaveLength(2)
  })

  test('counts as received by the channel that it is for', async () => {
    await world.putChannel(60, metaChannel('line-960', { phoneNumberId: '960' }))
    await postPayload(hookOf('line-901'), payloadOf(messageTo('960')))
    await eventually(async () => {
      const list = await fetch(`${world.url}/rest/hooks?limit=200`, { headers: world.as('webhook') })
      const { data } = (await list.json()) as {
        data: { channel: { _id: number }; lastReceivedAt: string | null }[]
      }
      return data.find(({ channel }) => channel._id === 60)?.lastReceivedAt != null
    })
    await world.drain()
  })

  test('may be for twenty numbers at once', async () => {
    await world.drain()
    const numbers = Array.from({ length: 20 }, (_, at) => String(2_000 + at))
    for (const [at, phoneNumberId] of numbers.entries())
      await world.putChannel(100 + at, metaChannel(`many-${phoneNumberId}`, { phoneNumberId }))
    const payload = payloadOf(...numbers.map((number) => messageTo(number)))
    expect((await postPayload(hookOf('line-901'), payload)).json).toMatchObject({ accepted: 20, foreign: 0 })
    const lines = (await world.drain()).map((taken) => lineOf(taken).channel)
    expect(lines.sort()).toEqual(numbers.map((number) => `many-${number}`).sort())
  })

  test('follows the number from one channel to another, and to none', async () => {
    await world.putChannel(50, metaChannel('first', { phoneNumberId: '950' }))
    const lineFor950 = async () => {
      await postPayload(hookOf('line-901'), payloadOf(messageTo('950')))
      return (await world.drain()).map((taken) => lineOf(taken).channel)[0]
    }
    await world.drain()
    await eventually(async () => (await lineFor950()) === 'first')
    await world.putChannel(50, metaChannel('first', { phoneNumberId: '951' }))
    await world.putChannel(51, metaChannel('second', { phoneNumberId: '950' }))
    await eventually(async () => (await lineFor950()) === 'second')
    await world.deleteChannel(51)
    await eventually(async () => (await lineFor950()) === undefined)
  })

  test('goes on by what is known while configuration is unavailable; what is not known is 503', async () => {
    await world.drain()
    const post = (number: string) => postPayload(hookOf('line-901'), payloadOf(messageTo(number)))
    expect((await post('903')).json).toMatchObject({ accepted: 1 })
    world.configuration.cut()
    expect((await post('903')).json).toMatchObject({ accepted: 1 })
    expect((await post('901')).json).toMatchObject({ accepted: 1 })
    expect((await post('998')).status).toBe(503)
    await world.drain()
    const both = payloadOf(messageTo('901', 'wamid.known'), messageTo('997', 'wamid.not-known'))
    expect((await postPayload(hookOf('line-901'), both)).status).toBe(503)
    expect((await world.drain()).map((taken) => lineOf(taken).channel)).toEqual(['line-901'])
    world.configuration.mend()
    await eventually(async () => (await post('998')).status === 200)
    await world.drain()
  })

  test('with more than a hundred numbers is refused', async () => {
    const changes = Array.from({ length: 101 }, (_, at) => messageTo(`3${at}`))
    expect((await postPayload(hookOf('line-901'), payloadOf(...changes))).status).toBe(413)
  })

  test('has to be signed for the address that it comes to, whosever it is', async () => {
    const payload = JSON.stringify(payloadOf(messageTo('904')))
    const signature = signatureOf(payload, 'of another app')
    expect((await postPayload(hookOf('line-901'), payload, { signature })).status).toBe(403)
    expect((await postPayload(hookOf('line-904'), payload, { signature })).json).toMatchObject({
      accepted: 1,
    })
    await world.drain()
  })
})
