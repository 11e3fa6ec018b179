import { describe, expect, test } from '@jest/globals'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

describe('replay', () => {
  test('runs a dead message again once its cause is mended, and sends only what did not get there', async () => {
    const template = { name: 'f', args: { template: 'first', language: 'en' } }
    line.endpoint.respond = ({ json }, res) => void res.writeHead(json.type === 'text' ? 410 : 200).end('{}')
    await line.world.post('m-replay', {
      ...text('', 'replay'),
      answer: { functions: [template], message: 'second' },
    })
    await line.world.message('m-replay', 'dead')
    line.endpoint.respond = (_call, res) => void res.writeHead(200).end('{}')
    expect(await line.world.call('POST', '/rest/messages/m-replay/replay')).toMatchObject({ status: 200 })
    const seen = await line.world.message('m-replay', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.id)).toEqual(['m-replay:0', 'm-replay:1', 'm-replay:1'])
    expect([seen.reason, seen.fault]).toEqual([undefined, undefined])
  })

  test('is refused for what is not at a bad end, and for what is not there', async () => {
    await line.world.post('m-fine', text('fine', 'replay-2'))
    await line.world.message('m-fine', 'delivered')
    const refused = await line.world.call('POST', '/rest/messages/m-fine/replay')
    expect(refused).toMatchObject({ status: 409, json: { code: 'not_replayable' } })
    expect((await line.world.call('POST', '/rest/messages/nothing/replay')).status).toBe(404)
    expect((await line.world.call('POST', '/rest/messages/replay', { status: 'sent' })).status).toBe(409)
    expect((await line.world.call('POST', '/rest/messages/replay', { name: 'x' })).status).toBe(422)
    expect((await line.world.call('GET', '/rest/messages/replay')).status).toBe(405)
  })

  test('of many takes each once, in order, and only those that the filter picks', async () => {
    line.endpoint.respond = (_call, res) => void res.writeHead(410).end('{}')
    const ids = Array.from({ length: 50 }, (_, n) => `m-many-${n}`)
    for (const id of ids) await line.world.post(id, text(id, 'many'))
    await line.world.post('m-others', text('other', 'others'))
    for (const id of [...ids, 'm-others']) await line.world.message(id, 'dead')
    line.endpoint.forget()
    const first = await line.world.call('POST', '/rest/messages/replay', { thread: 'many', limit: 20 })
    expect(first.json).toEqual({ replayed: 20, more: true })
    await line.world.message('m-many-19', 'delivered')
    const rest = await line.world.call('POST', '/rest/messages/replay', { thread: 'many', status: 'dead' })
    expect(rest.json).toEqual({ replayed: 30, more: false })
    await line.world.message('m-many-49', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.text)).toEqual(ids)
    expect((await line.world.message('m-others', 'dead')).fault).toBe('channel')
  })

  test('asked for twice at once runs a message once', async () => {
    line.endpoint.respond = (_call, res) => void res.writeHead(410).end('{}')
    await line.world.post('m-both', text('both', 'both'))
    await line.world.message('m-both', 'dead')
    line.endpoint.forget()
    await Promise.all([1, 2, 3].map(() => line.world.call('POST', '/rest/messages/m-both/replay')))
    await line.world.message('m-both', 'delivered')
    await line.world.post('m-both-after', text('after', 'both'))
    await line.world.message('m-both-after', 'delivered')
    expect(line.endpoint.calls.map(({ json }) => json.text)).toEqual(['both', 'after'])
  })
})
