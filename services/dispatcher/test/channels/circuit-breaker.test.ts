import { describe, expect, test } from '@jest/globals'
import {
  type CallEnd,
  CircuitBreaker,
  FAILURES,
  MAX_OPEN_MS,
  OPEN_MS,
  PROBE_MS,
} from '@parley/dispatcher/channels/endpoints/circuit-breaker'
import { callEndOf, createEndpoints } from '@parley/dispatcher/channels/endpoints/endpoints'
import type { Outcome } from '@parley/dispatcher/message/outcome'

function breakerAt() {
  const clock = { now: 1_000_000 }
  const breaker = new CircuitBreaker(() => clock.now)
  const call = (end: CallEnd) => {
    const entry = breaker.enter()
    return entry.kind === 'entered' ? entry.end(end) : entry.kind
  }
  const fail = (times: number) => Array.from({ length: times }, () => call('unanswered'))
  return { clock, breaker, call, fail }
}

describe('a circuit breaker', () => {
  test.each<[string, CallEnd[], 'closed' | 'open']>([
    ['no call', [], 'closed'],
    ['fewer calls without an answer', Array(FAILURES - 1).fill('unanswered'), 'closed'],
    ['five calls without an answer in a row', Array(FAILURES).fill('unanswered'), 'open'],
    ['an answer among them', [...Array(FAILURES - 1).fill('unanswered'), 'answered', 'unanswered'], 'closed'],
    ['calls that were not made', [...Array(FAILURES - 1).fill('unanswered'), 'unknown'], 'closed'],
  ])('after %s', (_name, ends, state) => {
    const { breaker, call } = breakerAt()
    for (const end of ends) call(end)
    expect(breaker.state()).toBe(state)
  })

  test('lets nothing through while it is open, then one probe, whose answer closes it', () => {
    const { clock, breaker, call, fail } = breakerAt()
    expect(fail(FAILURES).at(-1)).toBe(true)
    expect(breaker.enter()).toEqual({ kind: 'refused', until: clock.now + OPEN_MS })
    clock.now += OPEN_MS
    expect(breaker.state()).toBe('half_open')
    const probe = breaker.enter()
    expect(breaker.enter()).toEqual({ kind: 'refused', until: clock.now + PROBE_MS })
    if (probe.kind !== 'entered') throw new Error('no probe')
    probe.end('answered')
    expect(breaker.state()).toBe('closed')
    expect(call('unanswered')).toBe(false)
  })

  test('waits for a probe for as long as that may take', () => {
    const { clock, breaker, fail } = breakerAt()
    fail(FAILURES)
    clock.now += OPEN_MS
    expect(breaker.enter({ timeoutMs: 120_000 }).kind).toBe('entered')
    clock.now += 120_000
    expect(breaker.enter()).toEqual({ kind: 'refused', until: clock.now + 5_000 })
    clock.now += 5_000
    expect(breaker.enter().kind).toBe('entered')
  })

  test('is not open for longer when the clock is set back', () => {
    const { clock, breaker, fail } = breakerAt()
    fail(FAILURES)
    clock.now -= 3_600_000
    expect(breaker.enter().kind).toBe('entered')
    expect(breaker.enter()).toEqual({ kind: 'refused', until: clock.now + PROBE_MS })
    clock.now -= 3_600_000
    expect(breaker.enter().kind).toBe('entered')
  })

  test('waits twice as long after each probe without an answer, up to a minute', () => {
    const { clock, breaker, call, fail } = breakerAt()
    fail(FAILURES)
    const waits: number[] = []
    for (let probe = 0; probe < 6; probe++) {
      const entry = breaker.enter()
      const wait = entry.kind === 'refused' ? entry.until - clock.now : 0
      waits.push(wait)
      clock.now += wait
      expect(call('unanswered')).toBe(true)
    }
    expect(waits).toEqual([1, 2, 4, 8, 12, 12].map((times) => times * OPEN_MS))
    expect(MAX_OPEN_MS).toBe(12 * OPEN_MS)
  })

  test('goes on with another probe when one was not made, or never ended', () => {
    const { clock, breaker, call, fail } = breakerAt()
    fail(FAILURES)
    clock.now += OPEN_MS
    expect(call('unknown')).toBe(false)
    breaker.enter()
    clock.now += PROBE_MS
    expect(breaker.enter().kind).toBe('entered')
  })

  test('ignores the end of calls that were in flight when it opened', () => {
    const { clock, breaker, fail } = breakerAt()
    const late = breaker.enter()
    fail(FAILURES)
    clock.now += OPEN_MS
    if (late.kind === 'entered') expect(late.end('unanswered')).toBe(false)
    expect(breaker.state()).toBe('half_open')
  })
})

describe('endpoints', () => {
  const unanswered = async (endpoints: ReturnType<typeof createEndpoints>, url: string, workspace = 1) => {
    for (let call = 0; call < FAILURES; call++) {
      const admission = await endpoints.enter({ workspace, url })
      if (admission.kind === 'entered') admission.leave('unanswered')
    }
  }

  test('fail apart: by path, by host and by workspace', async () => {
    let opened = 0
    const endpoints = createEndpoints({ now: () => 0, opened: () => opened++ })
    await unanswered(endpoints, 'http://a.example/slow?x=1')
    const enter = async (workspace: number, url: string) => (await endpoints.enter({ workspace, url })).kind
    expect(await enter(1, 'http://a.example/slow?x=2')).toBe('wait')
    expect(await enter(1, 'http://a.example/other')).toBe('entered')
    expect(await enter(1, 'http://b.example/slow')).toBe('entered')
    expect(await enter(2, 'http://a.example/slow')).toBe('entered')
    expect([opened, endpoints.open()]).toEqual([1, 1])
  })

  test('have at most 256 calls of one workspace at one host; the next one gets the room of one that ends', async () => {
    const endpoints = createEndpoints({ now: () => 0, opened: () => {} })
    const enter = async (workspace: number, n: number) =>
      endpoints.enter({ workspace, url: `http://a.example/${n}` })
    const entered = await Promise.all(Array.from({ length: 256 }, (_, n) => enter(1, n)))
    expect(entered.every(({ kind }) => kind === 'entered')).toBe(true)
    expect((await enter(2, 256)).kind).toBe('entered')
    const next = enter(1, 256)
    const late = enter(1, 257)
    const [first] = entered
    if (first?.kind === 'entered') for (const end of ['answered', 'answered'] as const) first.leave(end)
    expect((await next).kind).toBe('entered')
    expect(await late).toMatchObject({ kind: 'wait', for: 'host' })
  })

  test('spread those that wait over a minute at most, and name the host but no path', async () => {
    const endpoints = createEndpoints({ now: () => 0, opened: () => {} })
    await unanswered(endpoints, 'http://a.example/secret-path')
    const all = Array.from({ length: 20_000 }, () =>
      endpoints.enter({ workspace: 1, url: 'http://a.example/secret-path' }),
    )
    const waits = (await Promise.all(all)).map((one) => (one.kind === 'wait' ? one : undefined))
    const untils = waits.map((one) => one?.until ?? 0)
    expect(untils[0]).toBe(OPEN_MS)
    expect(new Set(untils).size).toBeGreaterThan(10_000)
    expect(Math.max(...untils)).toBe(OPEN_MS + 60_000)
    expect(waits[0]?.reason).toMatch(/^a\.example has not answered/)
    expect(waits[0]?.reason).not.toContain('secret-path')
  })

  test.each([
    [{ kind: 'accepted', delivered: true }, 'answered'],
    [{ kind: 'answer' }, 'answered'],
    [{ kind: 'retryable', code: 'not_reached' }, 'unanswered'],
    [{ kind: 'uncertain', code: 'no_answer' }, 'unanswered'],
    [{ kind: 'uncertain', code: 'answer_too_large' }, 'answered'],
    [{ kind: 'retryable', code: 'http_503' }, 'answered'],
    [{ kind: 'permanent', code: 'http_404' }, 'answered'],
    [{ kind: 'permanent', code: 'target_refused' }, 'unknown'],
  ] as const)('%j counts as %s', (outcome, end) => {
    expect(callEndOf(outcome as Outcome)).toBe(end)
  })
})
