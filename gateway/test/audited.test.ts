import { describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import { actOf } from '../src/audited.ts'
import { systemForTests } from './gateway-system.ts'

describe('what a request is in the audit log', () => {
  test.each([
    [
      'PATCH',
      '/rest/channels/7',
      { action: 'update', resource: 'channels', document: 7, path: '/rest/channels/7' },
    ],
    [
      'POST',
      '/rest/assistant',
      { action: 'create', resource: 'assistant', document: 0, path: '/rest/assistant' },
    ],
    ['POST', '/rest/campaigns/7/pause', { action: 'pause', document: 7 }],
    ['POST', '/rest/people/3/notes', { action: 'create', document: 3 }],
    ['DELETE', '/rest/people/5511999990000', { action: 'delete', document: 0, path: '/rest/people/*' }],
    ['PATCH', '/rest/threads/Ana%20Souza', { action: 'update', path: '/rest/threads/*' }],
    ['GET', '/rest/channels', { action: 'read', resource: 'channels' }],
  ])('%s %s', (method, path, act) => {
    expect(actOf(method, path)).toMatchObject(act)
  })

  test.each([
    ['POST', '/rest/messages'],
    ['POST', '/rest/threads/7/typing'],
    ['POST', '/rest/threads/7/messages'],
    ['POST', '/rest/assistant/7/try'],
  ])('is nothing for %s %s', (method, path) => {
    expect(actOf(method, path)).toBeUndefined()
  })
})

describe('the gateway', () => {
  const system = systemForTests()

  test('reports acts at services and what was refused, with the address that it trusts, and no failures', async () => {
    const { accessToken: token } = await system.register()
    const { configuration } = system.backends
    const headers = { 'x-forwarded-for': '198.51.100.1' }
    const call = (method: string, path: string) => system.call(method, path, { token, headers, body: {} })
    await call('PATCH', '/rest/channels/7')
    configuration.respond = (_req, res) => void res.writeHead(200, { 'x-internal-act': 'take-over' }).end()
    expect((await call('PATCH', '/rest/channels/5')).headers.has('x-internal-act')).toBe(false)
    configuration.respond = (_req, res) => void res.writeHead(200, { 'x-internal-act': 'none' }).end()
    await call('PATCH', '/rest/channels/6')
    configuration.respond = (_req, res) => void res.writeHead(403).end()
    await call('DELETE', '/rest/channels/8')
    configuration.respond = (_req, res) => void res.writeHead(422).end()
    await call('DELETE', '/rest/channels/9')
    configuration.respond = undefined
    const entries = async (): Promise<Parsed[]> =>
      (await system.call('GET', '/rest/audit?resource=channels', { token })).json.data
    expect(await waitUntil(async () => (await entries()).length === 3, { timeoutMs: 10_000 })).toBe(true)
    const found = await entries()
    expect(found.map(({ action, document, outcome }) => [action, document, outcome]).toSorted()).toEqual([
      ['delete', 8, 'refused'],
      ['take-over', 5, 'done'],
      ['update', 7, 'done'],
    ])
    expect(found.map(({ address, name }) => [address, name])).toEqual(
      Array(3).fill(['127.0.0.1', 'Ana Souza']),
    )
  })
})
