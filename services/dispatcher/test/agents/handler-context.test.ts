import { BlockList } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import type { Agent } from '../../src/agents/agent.ts'
import { AGENT_KINDS } from '../../src/agents/kinds/kinds.ts'
import { createDescribeAssistant } from '../../src/agents/turns/describe-assistant.ts'
import type { Channel } from '../../src/channels/channels.ts'
import { createHandOffCallback } from '../../src/channels/hand-off.ts'
import { createHandle } from '../../src/channels/handle.ts'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { createSigner } from '../../src/channels/signing.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
const http = createHttpClient({ allowed: loopback })
const signer = createSigner(Buffer.alloc(32, 7).toString('base64'))
let endpoint: CallEndpoint
beforeAll(async () => {
  endpoint = await startCallEndpoint()
})
afterAll(async () => {
  await endpoint.close()
  http.close()
})

const channel = (handlerUrl: string, config: Record<string, unknown>): Channel => ({
  _id: 1,
  workspace: 1,
  hook: 'rpc',
  callback: 'rpc',
  handlerUrl,
  config,
})
const record = {
  ...{ order: 1, tries: 0, attempts: [], timeline: [] },
  _id: 'm',
  workspace: 1,
  channel: 'c',
  thread: 't',
  source: 'api',
  body: '{}',
}
const message = { extId: 'c', user: { phone: '1' }, thread: { extId: 't' }, answer: {}, input: 'hi' }
const agent: Agent = {
  workspace: 1,
  kind: AGENT_KINDS.taskManager,
  assistant: { _id: 4, name: 'Ana', description: 'd', backstory: 'b' },
  job: { _id: 5, role: 'r', goal: 'g', description: 'd' },
  actions: [
    {
      _id: 1,
      version: 1,
      name: 'a',
      description: '',
      specType: 'openapi3-yaml',
      moduleUrl: 'native:request',
      spec: '',
      configs: new Map([['credentials', { apiKey: 'secret-1' }]]),
    },
  ],
  configs: new Map([['credentials', { apiKey: 'secret-2' }]]),
  task: {
    _id: 6,
    name: 'order',
    state: { total: 7 },
    workflow: { _id: 7, name: 'w', description: '' },
    step: { _id: 8, name: 's', description: '', instructions: 'ask', submitWhen: 'asked' },
    steps: ['s'],
  },
  workflows: [],
}

describe('a handler over HTTP', () => {
  const handled = async (config: Record<string, unknown>, kind: 'found' | 'missing' = 'found') => {
    endpoint.forget()
    endpoint.respond = (_call, res) => void res.writeHead(200).end('{"message":"hello"}')
    const asked: unknown[] = []
    const describeAssistant = createDescribeAssistant({
      loadAgent: async ({ thread, kind: asking }) => {
        asked.push([thread, asking.type])
        return kind === 'found' ? { kind, agent } : { kind, reason: 'not there' }
      },
    })
    const handle = createHandle({ http, signer, describeAssistant })
    const { signal } = new AbortController()
    const call = { channel: channel(`${endpoint.url}/handler`, config), record, message, signal }
    expect(await handle(call)).toEqual({ kind: 'answer', answer: { message: 'hello' } })
    return { body: endpoint.calls[0]?.json, text: endpoint.calls[0]?.text, asked }
  }

  test('gets the bare message, and nothing is read for it', async () => {
    expect(await handled({})).toMatchObject({ body: message, asked: [] })
  })

  test('gets assistant, job, task and step with handlerContext, and no secret', async () => {
    const { body, text, asked } = await handled({ handlerContext: true })
    expect(asked).toEqual([['t', 'taskManager']])
    expect(body).toEqual({
      ...message,
      assistant: {
        ...agent.assistant,
        job: agent.job,
        task: { _id: 6, name: 'order', state: { total: 7 }, workflow: agent.task?.workflow, steps: ['s'] },
        step: agent.task?.step,
      },
    })
    expect(text).not.toContain('secret')
  })

  test('gets null for an assistant that is not there', async () => {
    expect((await handled({ handlerContext: true }, 'missing')).body.assistant).toBeNull()
  })
})

describe('who is to be told of a hand-off', () => {
  const notify = (config: Record<string, unknown>) =>
    createHandOffCallback({ http, signer })({
      channel: channel('native:agents/chat', config),
      messageId: 'm',
      message,
      id: 'm:1',
      reason: 'angry',
    })

  test('gets a signed POST under the id of its send', async () => {
    endpoint.forget()
    const notification = notify({ handOffUrl: `${endpoint.url}/people` })
    expect(await notification?.deliver()).toEqual({ kind: 'accepted', delivered: true })
    const [call] = endpoint.calls
    expect([call?.path, call?.headers['idempotency-key'], call?.headers['webhook-id']]).toEqual([
      '/people',
      'm:1',
      'm:1',
    ])
    expect(call?.headers['webhook-signature']).toMatch(/^v1,/)
    const { extId, user, thread } = message
    expect(call?.json).toEqual({
      id: 'm:1',
      messageId: 'm',
      channel: 1,
      extId,
      user,
      thread,
      type: 'handOff',
      reason: 'angry',
    })
  })

  test('that can not be reached is told later, and without a URL nobody is', async () => {
    const { url, close } = await listen(() => {})
    await close()
    expect(await notify({ handOffUrl: url })?.deliver()).toMatchObject({
      kind: 'retryable',
      code: 'not_reached',
    })
    expect([notify({}), notify({ handOffUrl: 'ftp://x' })]).toEqual([undefined, undefined])
  })
})
