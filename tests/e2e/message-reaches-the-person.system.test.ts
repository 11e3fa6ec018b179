import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type RunningParley, startProcesses } from './running-parley.ts'

let parley: RunningParley
beforeAll(async () => {
  parley = await startProcesses({ servers: 'own' })
})
afterAll(() => parley.stop(), 60_000)

const template = {
  name: 'sendTemplate',
  args: { template: 'welcome', variables: ['Ana', '20%'], language: 'pt_BR' },
}
const message = (extId: string, answer: object, more: object = {}) => ({
  extId,
  user: { name: 'João', phone: '+55 11 98888-7777' },
  thread: { extId: `thread of ${extId}` },
  answer,
  ...more,
})
const arrived = (phoneNumberId: string, count: number) =>
  eventually(async () => {
    const sends = await parley.sends(phoneNumberId)
    return sends.length >= count ? sends : undefined
  })
const logged = (id: string | null, state: string) =>
  eventually(async () => {
    const { status, json } = await parley.call('GET', `/rest/messages/${id}`)
    return status === 200 && json.state === state ? json : undefined
  })

describe('a message posted to the gateway', () => {
  test('comes out at WhatsApp: its template, then its text, and its log says so', async () => {
    await parley.putWhatsappChannel(1, { extId: 'line', phoneNumberId: '1001' })
    const body = message('line', { message: 'Olá! 👋', functions: [template] })
    const posted = await parley.call('POST', '/api/hooks/whatsapp', { body })
    expect([posted.status, posted.json]).toEqual([200, body])
    expect(await arrived('1001', 2)).toMatchObject([
      {
        to: '5511988887777',
        type: 'template',
        template: 'welcome',
        language: 'pt_BR',
        variables: ['Ana', '20%'],
      },
      { to: '5511988887777', type: 'text', text: 'Olá! 👋' },
    ])
    const seen = await logged(posted.headers.get('x-message-id'), 'sent')
    expect(seen.message).toEqual(body)
    expect(seen.timeline).toMatchObject(
      ['received', 'handled', 'sending', 'sent'].map((state) => ({ state })),
    )
    expect(JSON.stringify(seen)).not.toContain('secret')
  })

  test('without an answer is answered by the channel’s agent', async () => {
    await parley.putWhatsappChannel(2, { extId: 'echo', phoneNumberId: '1002' })
    await parley.call('POST', '/api/hooks/whatsapp', {
      body: message('echo', {}, { input: 'are you there?' }),
    })
    expect(await arrived('1002', 1)).toMatchObject([{ type: 'text', text: 'are you there?' }])
  })

  test('is not seen by another workspace', async () => {
    const posted = await parley.call('POST', '/api/hooks/whatsapp', {
      body: message('line', { message: 'private' }),
    })
    const id = posted.headers.get('x-message-id')
    await logged(id, 'sent')
    const token = await parley.register('rival')
    expect((await parley.call('GET', `/rest/messages/${id}`, { token })).status).toBe(404)
    expect((await parley.call('GET', '/rest/messages', { token })).json).toEqual({ data: [], next: null })
    expect((await parley.call('GET', '/rest/channels/1', { token })).status).toBe(404)
  })
})

describe('with processes killed', () => {
  // `npm run test:faults` kills each of them under load.
  test('all come back by themselves, and what was answered with 200 arrives in order', async () => {
    await parley.putWhatsappChannel(10, { extId: 'killed', phoneNumberId: '2' })
    const victims = ['dispatcher', 'webhook', 'configuration', 'identity', 'rabbitmq', 'redis']
    const texts = Array.from({ length: 5 * victims.length }, (_, n) => `text ${n}`)
    for (const [n, text] of texts.entries()) {
      if (n % 5 === 4) kill(victims[(n - 4) / 5] ?? '')
      await eventually(async () => {
        const body = message('killed', { message: text })
        const answer = await parley.call('POST', '/api/hooks/whatsapp', { body })
        if (answer.status !== 200) expect([503, 502]).toContain(answer.status)
        return answer.status === 200
      })
    }
    await parley.ready()
    // A post that was answered with 503 may have been taken all the same: repeats are not losses.
    const sends = await eventually(
      async () => {
        const all = await parley.sends('2')
        return all.some(({ text }) => text === texts.at(-1)) ? all : undefined
      },
      { timeoutMs: 60_000 },
    )
    expect([...new Set(sends.map(({ text }) => text))]).toEqual(texts)
  })

  function kill(name: string): void {
    const pid = currentPid(name)
    if (pid === undefined) throw new Error(`${name} has no process of its own here`)
    process.kill(pid, 'SIGKILL')
  }

  function currentPid(name: string): number | undefined {
    const state = JSON.parse(readFileSync(parley.runFile, 'utf8')) as {
      processes: Record<string, { pid?: number }>
    }
    return state.processes[name]?.pid
  }
})
