import { expect, test } from '@jest/globals'
import { whatsapp } from '@parley/shared/providers/whatsapp/whatsapp'
import type { Call, HttpResponse } from '../../src/channels/http/http-client.ts'
import { createNumberRates } from '../../src/channels/number-rates.ts'
import { createProviderCallback } from '../../src/channels/provider-callback.ts'

const HOUR_MS = 3_600_000
const config = { phoneNumberId: '7', accessToken: 'a', apiUrl: 'https://api.example/v26.0' }
const { rates } = whatsapp.outbound
const HIGH = JSON.stringify({ throughput: { level: 'HIGH' } })

/** Numbers whose provider answers with what `respond` says, and what it was asked. */
function numbersOf(respond: () => Promise<Partial<HttpResponse>>) {
  let time = 0
  const asked: string[] = []
  const numbers = createNumberRates({
    now: () => time,
    http: {
      send: async ({ url }: Call) => {
        asked.push(url)
        return { status: 200, headers: {}, body: '', ...(await respond()) }
      },
    },
  })
  if (rates === undefined) throw new Error('WhatsApp has rates')
  const number = (key: string) => ({ key, provider: whatsapp, rates })
  return {
    asked,
    ...numbers,
    after(ms: number) {
      time += ms
    },
    /** Returns the known rate of a number, once the answer to its request has come. */
    async rateOf(key = '1:7', more: object = {}) {
      const channel = { workspace: Number(key.split(':')[0]), config: { ...config, ...more } }
      const perSecond = numbers.perSecond(channel, number(key))
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
      return perSecond
    },
  }
}

test('a number has the least rate until its provider has said another, which is asked once a day', async () => {
  const { rateOf, after, asked } = numbersOf(async () => ({ body: HIGH }))
  expect([await rateOf(), await rateOf(), await rateOf()]).toEqual([20, 1_000, 1_000])
  after(23 * HOUR_MS)
  await rateOf()
  expect(asked).toEqual([expect.stringContaining('https://api.example/v26.0/7?fields=throughput')])
  after(HOUR_MS)
  expect(await rateOf()).toBe(1_000)
  expect(asked).toHaveLength(2)
})

test('a rate that the channel gives is its own, and nobody is asked', async () => {
  const { rateOf, asked } = numbersOf(async () => ({ body: HIGH }))
  expect([await rateOf('1:7', { messagesPerSecond: 20 }), asked]).toEqual([20, []])
})

test.each([
  ['fails', () => Promise.reject(new Error('down'))],
  ['is refused', async () => ({ status: 401 })],
  ['says nothing of it', async () => ({ body: '{}' })],
])('a look-up that %s leaves what was known, and is made again after ten minutes', async (_name, fails) => {
  let respond: () => Promise<Partial<HttpResponse>> = async () => ({ body: HIGH })
  const { rateOf, after, asked } = numbersOf(() => respond())
  await rateOf()
  respond = fails
  after(24 * HOUR_MS)
  expect([await rateOf(), await rateOf(), asked.length]).toEqual([1_000, 1_000, 2])
  after(HOUR_MS / 6)
  await rateOf()
  expect(asked).toHaveLength(3)
})

test.each([
  ['fails', () => Promise.reject(new Error('down'))],
  ['says nothing of it', async () => ({ body: '{}' })],
])('a number has the usual rate once its first look-up %s', async (_name, respond) => {
  const { rateOf } = numbersOf(respond)
  expect([await rateOf(), await rateOf(), await rateOf()]).toEqual([20, 80, 80])
})

test('a send that waits goes by what its number is known to take by then', async () => {
  const { perSecond, rateOf } = numbersOf(async () => ({ body: HIGH }))
  const callback = createProviderCallback(whatsapp, {
    numberRates: { perSecond },
    http: { send: () => Promise.reject(new Error('Nothing is to be sent')) },
    signer: { headers: () => ({}) },
    learnPerson: async () => {},
  })
  const kinds = { hook: 'whatsapp', callback: 'whatsapp', handlerUrl: 'native:agents/echo' } as const
  const message = {
    extId: '7',
    user: { phone: '+5511900000000' },
    thread: { extId: 't' },
    answer: { message: 'hi' },
  }
  const keys = callback.rateKeys?.({ _id: 1, workspace: 1, ...kinds, config }, message)
  expect(keys?.perSecond).toBe(20)
  await rateOf()
  expect(keys?.perSecond).toBe(1_000)
})

test('what was too fast is looked up again within ten minutes', async () => {
  let body = HIGH
  const { rateOf, after, tooFast } = numbersOf(async () => ({ body }))
  await rateOf()
  body = JSON.stringify({ is_on_biz_app: true })
  tooFast('1:7')
  tooFast('1:unknown')
  after(HOUR_MS / 6)
  await rateOf()
  expect(await rateOf()).toBe(20)
})

test('a few numbers of a workspace are looked up at a time, others beside them, and nothing waits for it or is slower', async () => {
  const { rateOf, asked } = numbersOf(() => new Promise(() => {}))
  for (let n = 0; n < 50; n++) expect(await rateOf(`1:${n}`)).toBe(n < 8 ? 20 : 80)
  expect(asked).toHaveLength(8)
  await rateOf('2:1')
  expect(asked).toHaveLength(9)
})
