import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { errorTextOf } from '@parley/shared/providers/whatsapp/outcome'
import { waitingOf } from '../../src/api/messages/view.ts'
import { withErrorText } from '../../src/channels/http/error-text.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

interface Shown {
  state: string
  waiting?: { for: string; since: string; until?: string; code?: string; error?: string; message?: string }
  attempts: { code?: string; error?: string }[]
}
const shown = async (id: string) => (await line.world.get(`/rest/messages/${id}`)).json as Shown
const listed = async (thread: string) =>
  ((await line.world.get(`/rest/messages?thread=${thread}`)).json as { data: Shown[] }).data

describe('a message that is tried again', () => {
  test('says for what it waits, since when, until when, and what the other side said, without what was sent', async () => {
    line.endpoint.respond = (_call, res) =>
      void res.writeHead(500).end('The database of orders is down; got: a very private text')
    await line.world.post('m-waits', text('a very private text', 'waits'))
    const message = await eventually(async () => {
      const found = await shown('m-waits')
      return found.waiting?.for === 'retry' ? found : undefined
    })
    expect(message.waiting).toMatchObject({ for: 'retry', code: 'http_500' })
    expect(message.waiting?.error).toContain('The database of orders is down')
    expect(JSON.stringify([message.waiting, message.attempts])).not.toContain('private')
    const { since = '', until = '' } = message.waiting ?? {}
    expect(Date.parse(until)).toBeGreaterThan(Date.parse(since))
    // It is tried again meanwhile.
    await eventually(async () => (await listed('waits'))[0]?.waiting?.code === 'http_500')
    await line.world.post('m-behind', text('next', 'waits'))
    const behind = await eventually(async () => {
      const found = await shown('m-behind')
      return found.waiting?.for === 'thread' ? found : undefined
    })
    expect(behind.waiting?.message).toBe('m-waits')
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end()
    await line.world.message('m-behind', 'delivered')
    expect((await shown('m-behind')).waiting).toBeUndefined()
  })
})

describe('the error text of the other side', () => {
  const refused: Outcome = { kind: 'permanent', code: 'c', fault: 'channel', reason: 'r' }
  const errorOf = (
    body: string,
    call: { url?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    const outcome = withErrorText(refused, { body }, { url: 'http://x', headers: {}, ...call })
    return 'error' in outcome ? outcome.error : undefined
  }

  test('has 500 bytes at most', () => {
    expect(Buffer.byteLength(errorOf('é'.repeat(10_000)) ?? '')).toBeLessThanOrEqual(500)
  })

  test('is the message of an error, as many APIs write it', () => {
    const error = { message: '(#132000) Wrong number', code: 132000 }
    expect(errorOf(JSON.stringify({ error }))).toBe('(#132000) Wrong number')
  })

  test('is what a provider reads of its own form', () => {
    const error = {
      message: '(#132000) Wrong number',
      code: 132000,
      error_data: { details: 'of parameters' },
    }
    const body = JSON.stringify({ error })
    const said = errorTextOf({ body })
    const outcome = withErrorText(refused, { body }, { url: 'http://x', headers: {}, said })
    expect(outcome).toMatchObject({ error: '(#132000) Wrong number: of parameters' })
  })

  test('holds nothing of the call’s headers, parameters and body', () => {
    const call = {
      url: 'http://x/?key=parameter-4711',
      headers: { authorization: 'Bearer EAAGm0PX4ZCpsBA' },
      body: JSON.stringify({ to: '5511988887777', text: { body: 'see you at the clinic' } }),
    }
    const body =
      'Token EAAGm0PX4ZCpsBA with parameter-4711 may not send "see you at the clinic" to 5511988887777.'
    const error = errorOf(body, call) ?? ''
    expect(error).toContain('may not send')
    expect(error).not.toMatch(/EAAG|4711|clinic|5511988887777/)
  })

  test('is left out where there is none', () => {
    expect(errorOf('')).toBeUndefined()
  })
})

describe('what a message waits for', () => {
  const at = new Date(0)
  const record = { state: 'received', sends: [], attempts: [], receivedAt: at, updatedAt: at } as const
  const waits = (more: object, isWorkedInTurns = false) =>
    waitingOf({ ...record, sends: [], attempts: [], ...more }, { isWorkedInTurns })

  test('is nothing once it has ended, and the model where one is asked', () => {
    expect(waits({})).toBeUndefined()
    expect(waits({ open: true })).toEqual({ for: 'turn', since: at })
    expect(waits({ open: true }, true)).toEqual({ for: 'model', since: at })
    expect(waits({ open: true, waitingFor: 'rate' })).toEqual({ for: 'rate', since: at })
  })
})
