import { expect, test } from '@jest/globals'
import type { Channel } from '@parley/dispatcher/channels/channels'
import { createFindAction } from '@parley/dispatcher/functions/find-action'
import { createFunctions } from '@parley/dispatcher/functions/functions'
import { createReadOperationCall } from '@parley/dispatcher/functions/operation-call'
import type { SpecReader } from '@parley/dispatcher/functions/spec-reader'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import { noTokens } from '../agent-world.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const SLOW_SPEC = {
  kind: 'retryable',
  code: 'slow_spec',
  fault: 'channel',
  reason: 'The spec of action 1 takes too long to read.',
}
const documents: Record<string, object> = {
  'assistant/1': { actions: [1, 2] },
  'actions/1': { _id: 1 },
  'actions/2': { _id: 2 },
}
const action = { version: 1, specType: 'openapi3-yaml', moduleUrl: 'native:request', spec: '' }
const call = {
  channel: { workspace: 1, config: { assistantId: 1 } } as unknown as Channel,
  messageId: 'm',
  message: {
    ...{ extId: 'c', user: {}, thread: { extId: 't' } },
    answer: { functions: [{ name: 'createInvoice', args: {} }] },
  },
  id: 'm:0',
  content: { kind: 'function' as const, name: 'createInvoice', position: 0 },
}
const mayLeave = () => true

/** Functions of an assistant whose actions 1 and 2 both have the operation; the spec of the first may be slow. */
function twoActions() {
  const state = { isSlow: true, called: [] as string[] }
  const ask: SpecReader['ask'] = async (task) => {
    if (task.key === '1/1/1' && state.isSlow) return { kind: 'too_slow' }
    if (task.kind === 'operations') return { kind: 'operations', ids: ['createInvoice'] }
    const request = { method: 'POST', url: `https://x.example/${task.key}`, headers: {} }
    return { kind: 'request', request, security: [], isRepeatable: false, isKeyed: false }
  }
  const functions = createFunctions({
    findAction: createFindAction({
      replica: {
        find: async (query) => {
          const { resource, id } = query as { resource: string; id: number }
          return [{ ...action, ...documents[`${resource}/${id}`] } as never]
        },
      },
      secrets: { open: () => undefined },
      specs: { ask },
    }),
    readCall: createReadOperationCall({
      specs: { ask },
      http: {
        send: async ({ url }) => {
          state.called.push(url)
          return { status: 200, headers: {}, body: '' }
        },
      },
      signer: { headers: () => ({}) } as never,
    }),
    credentialsOf: async () => undefined,
    callSettingsOf: async () => ({ isIdempotent: false, timeoutMs: 15_000 }),
    tokens: noTokens,
  })
  return { state, functions }
}

test('a function is tried again while a spec is too slow, and no later action with such an operation is called', async () => {
  const { state, functions } = twoActions()
  expect(await functions.check(call, { notBefore: 0 })).toEqual(SLOW_SPEC)
  const attempt = await functions.open(call)
  expect(await attempt.deliver(mayLeave)).toEqual(SLOW_SPEC)
  expect(state.called).toEqual([])
})

test('a function of an action whose spec was too slow for a time is called there once it is read', async () => {
  const { state, functions } = twoActions()
  await functions.check(call, { notBefore: 0 })
  state.isSlow = false
  expect(await functions.check(call, { notBefore: 0 })).toBeUndefined()
  const attempt = await functions.open(call)
  expect(await attempt.deliver(mayLeave)).toMatchObject({ kind: 'accepted' })
  expect(state.called).toEqual(['https://x.example/1/1/1'])
})

const database = dispatcherDatabase({ partitions: 1 })

test('a handler whose function waits for a slow spec is asked once', async () => {
  const { state, functions } = twoActions()
  const { messages } = database.collections
  const stored = () => messages.findOne({ _id: 'handled' })
  const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {} })
  await messages.insertOne(newRecord({ _id: 'handled', thread: 't', partition: 0, body, open: true }))
  let now = Date.now()
  let asked = 0
  const callback = { reports: false, deliver: async () => ({ kind: 'accepted', delivered: true }) as const }
  const deliver = createDeliverMessage(
    deliveryOptions(callback, {
      ...{ read: stored, now: () => now, functions },
      channels: {
        find: async () => ({
          ...{ _id: 1, workspace: 1, hook: 'rpc', callback: 'rpc', handlerUrl: 'native:agents/echo' },
          config: { assistantId: 1 },
        }),
      },
      handle: async () => {
        asked++
        return { kind: 'answer', answer: call.message.answer }
      },
    }),
  )
  const run = async () => {
    const record = await stored()
    return deliver(record!, database.leased, (one) => one())
  }
  expect(await run()).toMatchObject({ kind: 'wait', for: 'retry' })
  expect(await stored()).toMatchObject({ attempts: [{ code: 'slow_spec' }], open: true })
  state.isSlow = false
  now += 60_000
  expect(await run()).toEqual({ kind: 'closed' })
  expect([asked, state.called]).toEqual([1, ['https://x.example/1/1/1']])
})
