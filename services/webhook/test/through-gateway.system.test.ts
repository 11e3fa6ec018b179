import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import {
  metaChannel,
  metaMessage,
  payloadOf,
  postPayload,
  signatureOf,
  VERIFY_TOKEN,
} from './meta-payload.ts'
import { postOnce } from './post-once.ts'

let world: IntakeWorld
let gateway: string
let hook: string
beforeAll(async () => {
  world = await startIntakeWorld()
  gateway = (await world.startGateway()).url
  await world.putChannel(1, metaChannel('line é'))
  hook = `${gateway}/api/hooks/whatsapp/${world.slug}/line%20%C3%A9`
}, START_MS)
afterAll(() => world.close(), START_MS)

describe('through the gateway, without a token', () => {
  test('the handshake succeeds', async () => {
    const query = { 'hub.mode': 'subscribe', 'hub.challenge': '1158', 'hub.verify_token': VERIFY_TOKEN }
    const answer = await fetch(`${hook}?${new URLSearchParams(query)}`)
    expect([answer.status, await answer.text()]).toEqual([200, '1158'])
  })

  const payload = payloadOf({ messages: [metaMessage('w', { type: 'text', text: { body: 'é 👋' } })] })
  const escaped = JSON.stringify(payload).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  test.each([
    ['as it is', JSON.stringify(payload)],
    ['with spaces and line ends', ` ${JSON.stringify(payload, null, 4)}\r\n`],
    ['escaped', escaped],
  ])('a signed body arrives byte for byte: %s', async (_name, body) => {
    const wrong = await postPayload(hook, body, { signature: signatureOf(`${body} `) })
    const right = await postPayload(hook, body)
    expect([wrong.status, right.status]).toEqual([403, 200])
  })

  test('one in chunks, as large as Meta sends them, arrives whole', async () => {
    const messages = [metaMessage('large', { type: 'text', text: { body: 'x'.repeat(2_900_000) } })]
    const body = JSON.stringify(payloadOf({ messages }))
    const answer = await postOnce(hook, {
      headers: {
        'content-type': 'application/json',
        'transfer-encoding': 'chunked',
        'x-hub-signature-256': signatureOf(body),
      },
      body,
    })
    expect([answer.status, JSON.parse(answer.text).accepted]).toEqual([200, 1])
  })

  test('an unknown workspace is 404, and the AsyncAPI document is there', async () => {
    expect((await postPayload(hook.replace(world.slug, 'nobody'), payload)).status).toBe(404)
    expect((await fetch(`${gateway}/asyncapi.json`)).status).toBe(200)
    expect((await fetch(`${gateway}/rest/hooks`)).status).toBe(401)
  })
})
