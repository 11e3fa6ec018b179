import type { ServerResponse } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { derivedSecret } from '@parley/shared/signing-secret'
import { Webhook } from 'standardwebhooks'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

describe('a message with an answer', () => {
  test('is delivered: templates in order, then the text, signed and each under its own id', async () => {
    const template = {
      name: 'callback',
      args: { template: 'welcome', variables: ['Ana', '20%'], language: 'pt_BR' },
    }
    const message = { ...text('Olá! 👋', 'a'), answer: { functions: [template], message: 'Olá! 👋' } }
    await line.world.post('m-answer', message)
    const seen = await line.world.message('m-answer', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json)).toMatchObject([
      {
        id: 'm-answer:0',
        type: 'template',
        template: 'welcome',
        variables: ['Ana', '20%'],
        language: 'pt_BR',
      },
      { id: 'm-answer:1', type: 'text', text: 'Olá! 👋' },
    ])
    const secret = derivedSecret({
      workspace: line.world.workspace,
      channel: 1,
      serviceKey: Buffer.alloc(32, 7).toString('base64'),
    })
    for (const { headers, text: payload } of line.endpoint.calls) {
      expect(() => new Webhook(secret).verify(payload, headers as Record<string, string>)).not.toThrow()
    }
    expect(seen.timeline.map(({ state }) => state)).toEqual(['received', 'handled', 'sending', 'delivered'])
    expect(seen.sends.map(({ state }) => state)).toEqual(['delivered', 'delivered'])
    expect(seen.message).toEqual(message)
  })

  test('is signed with each of the secrets that the channel brings', async () => {
    const signingSecrets = ['one+', 'two+'].map((text) => `whsec_${text.repeat(8)}`)
    const config = { callbackUrl: `${line.endpoint.url}/callback`, signingSecrets }
    await line.world.putChannel(8, line.rpc({ extId: 'own-secrets', config }))
    await line.world.post('m-secrets', text('signed twice', 'p', 'own-secrets'))
    await line.world.message('m-secrets', 'delivered')
    const [call] = line.endpoint.calls
    for (const secret of signingSecrets) {
      const headers = call?.headers as Record<string, string>
      expect(() => new Webhook(secret).verify(call?.text ?? '', headers)).not.toThrow()
    }
  })

  test('that comes twice under one id is handled once', async () => {
    await line.world.post('m-twice', text('once', 'b'))
    await line.world.message('m-twice', 'delivered')
    await line.world.post('m-twice', text('once', 'b'))
    await line.world.post('m-after', text('after', 'b'))
    await line.world.message('m-after', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.text)).toEqual(['once', 'after'])
  })
})

describe('a message without an answer', () => {
  test('is answered by a built-in agent', async () => {
    await line.world.post('m-echo', { ...text('', 'e'), answer: {}, input: 'are you there?' })
    const seen = await line.world.message('m-echo', 'delivered')
    expect([seen.answer, line.endpoint.calls[0]?.json.text]).toEqual([
      { message: 'are you there?' },
      'are you there?',
    ])
  })

  test('is dead when the built-in agent is not known, and the known ones are named', async () => {
    await line.world.putChannel(2, line.rpc({ extId: 'unknown-agent', handlerUrl: 'native:agents/oracle' }))
    await line.world.post('m-oracle', { ...text('', 'f', 'unknown-agent'), answer: {} })
    expect((await line.world.message('m-oracle', 'dead')).reason).toContain('known: echo')
  })

  test('goes to the handler by a signed POST, whose answer is sent', async () => {
    await line.world.putChannel(3, line.rpc({ extId: 'handled', handlerUrl: `${line.endpoint.url}/handler` }))
    const message = { ...text('', 'g', 'handled'), answer: {}, input: 'hello' }
    line.endpoint.respond = ({ path }, res) =>
      void res
        .writeHead(200)
        .end(JSON.stringify(path === '/handler' ? { ...message, answer: { message: 'hi!' } } : {}))
    await line.world.post('m-handled', message)
    await line.world.message('m-handled', 'delivered')
    expect(line.endpoint.calls.map(({ path, json }) => [path, json.text ?? json.input])).toEqual([
      ['/handler', 'hello'],
      ['/callback', 'hi!'],
    ])
    expect(line.endpoint.calls[0]?.headers['webhook-id']).toBe('m-handled')
  })

  test.each([
    [
      'a redirect',
      (res: ServerResponse) => res.writeHead(302, { location: '/elsewhere' }).end(),
      'answered 302',
    ],
    ['HTML', (res: ServerResponse) => res.writeHead(200).end('<html></html>'), 'not JSON'],
    ['another shape', (res: ServerResponse) => res.writeHead(200).end('{"text":""}'), 'not a message'],
  ])('is dead when the handler answers with %s', async (name, answer, reason) => {
    await line.world.putChannel(4, line.rpc({ extId: 'odd', handlerUrl: `${line.endpoint.url}/handler` }))
    line.endpoint.respond = (_call, res) => void answer(res)
    await line.world.post(`m-odd-${name}`, { ...text('', `odd-${name}`, 'odd'), answer: {} })
    const seen = await line.world.message(`m-odd-${name}`, 'dead')
    expect([seen.fault, seen.reason]).toEqual(['channel', expect.stringContaining(reason)])
  })
})

describe('trouble at the other side', () => {
  test('a failure is tried again under the same id, the thread in order, and other threads go on', async () => {
    const failed = new Set<string>()
    line.endpoint.respond = ({ json }, res) => {
      const fail = json.text?.startsWith('slow') === true && !failed.has(json.id)
      failed.add(json.id)
      res.writeHead(fail ? 503 : 200).end('{}')
    }
    for (let n = 0; n < 3; n++) await line.world.post(`m-slow-${n}`, text(`slow ${n}`, 'slow'))
    await line.world.post('m-fast', text('fast', 'fast'))
    await line.world.message('m-fast', 'delivered')
    expect(
      (await line.world.message('m-slow-2', 'delivered')).attempts.map(({ outcome }) => outcome),
    ).toEqual(['retryable', 'accepted'])
    expect(line.endpoint.calls.map(({ json }) => json.text).filter((sent) => sent !== 'fast')).toEqual(
      [0, 0, 1, 1, 2, 2].map((n) => `slow ${n}`),
    )
    expect(line.endpoint.calls.findIndex(({ json }) => json.text === 'fast')).toBeLessThan(5)
  })

  test('a channel without order lets later messages of a thread pass one that waits', async () => {
    await line.world.putChannel(9, {
      ...line.rpc({ extId: 'unordered' }),
      config: { callbackUrl: `${line.endpoint.url}/callback`, ordered: false },
    })
    let open = false
    line.endpoint.respond = ({ json }, res) =>
      void res.writeHead(json.text === 'held' && !open ? 503 : 200).end('{}')
    for (const name of ['first', 'held', 'third', 'fourth'])
      await line.world.post(`m-unordered-${name}`, text(name, 'unordered', 'unordered'))
    await line.world.message('m-unordered-fourth', 'delivered')
    expect((await line.world.message('m-unordered-held', 'sending')).attempts.length).toBeGreaterThan(0)
    open = true
    await line.world.message('m-unordered-held', 'delivered')
    const arrived = line.endpoint.calls.map(({ json }) => json.text)
    expect(arrived.filter((name) => name !== 'held')).toEqual(['first', 'third', 'fourth'])
    expect(arrived.indexOf('held')).toBe(1)
    expect(arrived.at(-1)).toBe('held')
  })

  test('a refusal is dead at once, with the fault, and the next message goes on', async () => {
    line.endpoint.respond = ({ json }, res) =>
      void res.writeHead(json.text === 'refused' ? 410 : 200).end('{}')
    await line.world.post('m-refused', text('refused', 'h'))
    await line.world.post('m-next', text('next', 'h'))
    const seen = await line.world.message('m-refused', 'dead')
    expect([seen.fault, seen.reason, seen.attempts.length]).toEqual([
      'channel',
      'The endpoint answered 410.',
      1,
    ])
    await line.world.message('m-next', 'delivered')
  })

  test('a retry waits as long as Retry-After says', async () => {
    line.endpoint.respond = (_call, res) => void res.writeHead(429, { 'retry-after': '3600' }).end()
    await line.world.post('m-later', text('later', 'i'))
    const seen = await eventually(async () => {
      const { json } = await line.world.get('/rest/messages/m-later')
      const { due } = json as { due?: string }
      return due === undefined ? undefined : Date.parse(due)
    })
    expect(seen - Date.now()).toBeGreaterThan(3_590_000)
  })

  test.each([
    ['a channel without a callback URL', {}, 'config.callbackUrl'],
    ['a callback at a private address', { callbackUrl: 'http://10.0.0.1/x' }, 'private'],
    ['a callback at a link-local address', { callbackUrl: 'http://169.254.169.254/latest' }, 'private'],
  ])('%s makes its messages dead', async (name, config, reason) => {
    await line.world.putChannel(5, line.rpc({ extId: name, config }))
    await line.world.post(`m-${name}`, text('x', name, name))
    const seen = await line.world.message(`m-${name}`, 'dead')
    expect([seen.fault, seen.reason]).toEqual(['channel', expect.stringContaining(reason)])
  })
})

describe('routing', () => {
  test('a message for no channel is unrouted by one question to configuration, and delivered once it has one and is run again', async () => {
    await line.world.post('m-early', text('early', 'j', 'late-line'))
    expect((await line.world.message('m-early', 'unrouted')).reason).toContain('no channel')
    expect(line.world.asked().filter((path) => path.includes('late-line'))).toHaveLength(1)
    await line.world.putChannel(6, line.rpc({ extId: 'late-line' }))
    expect((await line.world.call('POST', '/rest/messages/m-early/replay')).status).toBe(200)
    await line.world.message('m-early', 'delivered')
  })

  test('while configuration is unavailable, channels of the replica are served and messages of other channels wait', async () => {
    await line.world.putChannel(7, line.rpc({ extId: 'only-told-of' }))
    await line.world.replicated('channels', 7)
    await line.world.configuration.cut()
    await line.world.post('m-waiting', text('waiting', 'l', 'not-held'))
    await line.world.post('m-copy', text('copy', 'm'))
    await line.world.post('m-told', text('told', 'm', 'only-told-of'))
    await line.world.message('m-told', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.text)).toEqual(['copy', 'told'])
    await line.world.configuration.mend()
    await line.world.putChannel(9, line.rpc({ extId: 'not-held' }))
    await line.world.message('m-waiting', 'delivered')
  })
})
