import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'
import { assistant, channelAt, message } from '../functions/function-bodies.ts'

let world: DispatchWorld
let broker: TcpProxy
let endpoint: CallEndpoint

beforeAll(async () => {
  endpoint = await startCallEndpoint()
  const proxied = new URL((await testServers()).amqpUrl)
  broker = await startTcpProxy({ host: proxied.hostname, port: Number(proxied.port) })
  proxied.port = String(broker.port)
  proxied.hostname = '127.0.0.1'
  world = await startDispatchWorld({ AMQP_URL: proxied.href })
  await world.put('assistant', 1, assistant({ actions: [] }))
  await world.putChannel(1, channelAt(endpoint.url, 'shop', 1))
})
afterAll(async () => {
  await world.close()
  await broker.close()
  await endpoint.close()
})
beforeEach(() => endpoint.forget())

describe('what an answer submits', () => {
  beforeAll(async () => {
    await world.put('steps', 1, { name: '', description: '', instructions: '', submitWhen: '' })
    await world.put('workflows', 1, { name: '', description: '', steps: [1], firstStep: 1 })
  })
  const task = (extId: string) => ({
    workflow: 1,
    currentStep: 1,
    status: 'active',
    name: '',
    description: '',
    extId,
  })

  test('reaches the task of its thread, and a message that only submits is done', async () => {
    await world.put('tasks', 1, task('t1'))
    await world.post('s-only', message('shop', { submit: { total: 7 } }, 't1'))
    const seen = await world.message('s-only', 'done')
    expect([seen.sends, seen.submit]).toEqual([[], { id: 's-only:0', state: 'submitted' }])
    expect(endpoint.calls).toEqual([])
    const advanced = await eventually(async () => {
      const read = await world.read('tasks', 1)
      return read.status === 'completed' ? read : undefined
    })
    expect(advanced.context.steps).toEqual({ 1: { total: 7 } })
  })

  test('waits while the broker is unavailable, without asking the handler again, and counts once', async () => {
    await world.put('tasks', 2, task('t2'))
    await world.putChannel(
      6,
      channelAt(endpoint.url, 'submits', 1, { handlerUrl: `${endpoint.url}/handler` }),
    )
    let responses = 0
    endpoint.respond = ({ path, text }, res) => {
      if (path !== '/handler') return void res.writeHead(200).end('{}')
      broker.cut()
      const answer = { message: 'noted', submit: { asked: ++responses } }
      res.writeHead(200).end(JSON.stringify({ ...JSON.parse(text), answer }))
    }
    await world.post('s-away', message('submits', {}, 't2'))
    const waiting = await eventually(async () => {
      const { json } = await world.get('/rest/messages/s-away')
      const seen = json as Parsed
      return seen.sends?.[0]?.state === 'delivered' ? seen : undefined
    })
    expect([waiting.state, waiting.submit]).toEqual(['sending', { id: 's-away:1', state: 'pending' }])
    broker.mend()
    const seen = await world.message('s-away', 'delivered')
    expect(seen.submit?.state).toBe('submitted')
    const advanced = await eventually(async () => {
      const read = await world.read('tasks', 2)
      return read.status === 'completed' ? read : undefined
    })
    expect([advanced.context.steps, endpoint.paths()]).toEqual([
      { 1: { asked: 1 } },
      ['/handler', '/callback'],
    ])
  })
})
