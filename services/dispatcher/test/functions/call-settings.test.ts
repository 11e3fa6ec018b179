import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { CALL_MS, callSettingsIn } from '../../src/functions/call-settings.ts'
import { actionOf, agentOf, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { specAt } from './function-bodies.ts'

describe('the time limit of a call', () => {
  test.each<[string, unknown[], number]>([
    ['15 s', [], CALL_MS],
    ['what a config of the action says', [{ timeoutSeconds: 40 }], 40_000],
    ['120 s at most', [{ timeoutSeconds: 3_600 }], 120_000],
    ['1 s at least', [{ timeoutSeconds: 0 }], 1_000],
    ['15 s where a config says what is no number', [{ timeoutSeconds: '40' }, 'x', null, [1]], CALL_MS],
    ['what one of several configs says', [{ idempotent: true }, { timeoutSeconds: 2.5 }], 2_500],
  ])('is %s', (_name, values, expected) => {
    expect(callSettingsIn(values).timeoutMs).toBe(expected)
  })
})

describe('a call of an operation', () => {
  let endpoint: CallEndpoint
  const tools = startTools()
  beforeAll(async () => {
    endpoint = await startCallEndpoint()
  })
  beforeEach(() => endpoint.forget())
  afterAll(async () => {
    await tools.close()
    await endpoint.close()
  })

  const opened = async (timeoutSeconds: number) => {
    const configs = new Map([['settings', { timeoutSeconds }]])
    const toolbox = await tools.open(agentOf([actionOf({ _id: 7, spec: specAt(endpoint.url), configs })]))
    const call = await toolbox.open({ tool: 'refund', args: '{"order":"o","amount":1}' })
    if (call.kind !== 'call') throw new Error(JSON.stringify(call))
    return call
  }
  /** Whole milliseconds that an attempt took, with its kind. */
  const tried = async (call: Awaited<ReturnType<typeof opened>>, leftMs?: number) => {
    const started = performance.now()
    const { kind } = await call.deliver('m:1', leftMs === undefined ? {} : { leftMs })
    return { kind, ms: performance.now() - started }
  }

  test('is broken off after its time limit, and may have been done', async () => {
    endpoint.respond = () => undefined
    const call = await opened(1)
    expect(call.timeoutMs).toBe(1_000)
    const { kind, ms } = await tried(call)
    expect(kind).toBe('uncertain')
    expect(ms).toBeGreaterThan(900)
  })

  test('is broken off when the time of its message is over', async () => {
    endpoint.respond = () => undefined
    const { kind, ms } = await tried(await opened(120), 300)
    expect(kind).toBe('uncertain')
    expect(ms).toBeLessThan(60_000)
  })

  test('is waited for as long as its time limit allows', async () => {
    endpoint.respond = (_call, res) => void setTimeout(() => res.writeHead(200).end('{}'), 1_500)
    expect(await tried(await opened(120))).toMatchObject({ kind: 'answered' })
  })
})
