import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { ModelResult } from '../../src/agents/model-client.ts'
import { boundReached, deadlineOf, turnSettingsOf } from '../../src/agents/turns/bounds.ts'
import { createModelCalls, type ModelCall } from '../../src/agents/turns/model-calls.ts'
import { choiceOf, nextChoice, retryOf } from '../../src/agents/turns/model-retry.ts'
import { givenAfter, hasBegun, triedFor, triedSince } from '../../src/message/call-result.ts'
import type { Send } from '../../src/message/message-record.ts'
import { settle } from '../../src/message/settle.ts'
import type { Turn } from '../../src/message/turn.ts'
import { callSettled, cutTo, turnStored } from '../../src/message/turn-progress.ts'
import { newRecord } from '../new-record.ts'

const turnAt = (at: number, calls: Turn['calls'] = []): Turn => ({
  at: new Date(at),
  provider: 'openai',
  model: 'm',
  inputTokens: 1,
  outputTokens: 1,
  ms: 1_000,
  finishReason: 'stop',
  text: '',
  calls,
})

describe('the settings of a channel', () => {
  test('have defaults, and are within their bounds whatever is stored', () => {
    expect(turnSettingsOf({})).toEqual({
      maxTurns: 8,
      turnMs: 60_000,
      messageMs: 300_000,
      streamsTokens: false,
      summarises: false,
      gatherMs: 0,
      historyTokens: 8_000,
      historyLimit: 50,
      fallbackMessage: '',
      handOffMessage: '',
      handsOffOnFailure: false,
    })
    const odd = { maxTurns: 1e9, turnTimeoutSeconds: -1, messageTimeoutSeconds: '7', gatherMs: Number.NaN }
    expect(turnSettingsOf(odd)).toMatchObject({
      maxTurns: 32,
      turnMs: 1_000,
      messageMs: 300_000,
      gatherMs: 0,
    })
  })
})

describe('tries of models', () => {
  test.each([
    ['the same model after half a second', { tries: 0, choices: 2 }, { tries: 1, delay: 500 }],
    ['then after a second', { tries: 1, choices: 2 }, { tries: 2, delay: 1_000 }],
    ['the next one at once', { tries: 2, choices: 2 }, { tries: 3, delay: 0 }],
    [
      'when the provider asks for it',
      { tries: 0, choices: 2, retryAfterSeconds: 3 },
      { tries: 1, delay: 3_000 },
    ],
    [
      'the next one rather than long',
      { tries: 0, choices: 2, retryAfterSeconds: 60 },
      { tries: 3, delay: 0 },
    ],
    [
      'the last one however long',
      { tries: 3, choices: 2, retryAfterSeconds: 60 },
      { tries: 4, delay: 60_000 },
    ],
    ['the first one again, when all have failed', { tries: 5, choices: 2 }, { tries: 6, delay: 1_000 }],
    ['and later, when all have failed twice', { tries: 11, choices: 2 }, { tries: 12, delay: 5_000 }],
  ])('ask %s', (_title, options, expected) => {
    expect(retryOf(options)).toEqual(expected)
  })

  test('go through the models in sequence, and begin anew', () => {
    expect(Array.from({ length: 8 }, (_, tries) => choiceOf(tries, 2))).toEqual([0, 0, 0, 1, 1, 1, 0, 0])
    expect([nextChoice(0, 2), nextChoice(4, 2), nextChoice(1, 1)]).toEqual([3, undefined, undefined])
  })
})

describe('a call that does not come through', () => {
  const outcome = { kind: 'retryable', code: 'not_reached', fault: 'channel', reason: 'nobody' } as const
  const after = (triedFor: number) =>
    givenAfter({
      outcome,
      triedFor,
      settlement: settle({ outcome, tries: 0, reports: false, uncertainWindow: 0 }),
    })

  test('is tried on within 30 seconds, then the model is told that it failed', () => {
    expect([after(0), after(29_000)]).toEqual([undefined, undefined])
    expect(after(29_500)).toEqual({ result: { state: 'failed', text: 'nobody' }, state: 'failed' })
  })

  const send: Send = {
    id: 'm:1',
    content: { kind: 'tool', name: 'x' },
    state: 'pending',
    of: { turn: 0, call: 0 },
  }
  const attempt = (step: string, at: number, code?: string) => ({
    at: new Date(at),
    step,
    outcome: 'retryable' as const,
    ms: 100,
    ...(code === undefined ? {} : { code }),
  })

  test.each([
    ['after one that got no answer', [attempt('m:1', 1, 'no_answer')], 'failed', true],
    [
      'after an interrupted one, which had no effect twice',
      [attempt('m:1', 1, 'interrupted')],
      'failed',
      undefined,
    ],
    ['after another call that got no answer', [attempt('m:0', 1, 'no_answer')], 'failed', undefined],
    ['after one that got no answer, and was done then', [attempt('m:1', 1, 'no_answer')], 'done', undefined],
  ] as const)('that fails %s may have been done: %#', (_, attempts, state, uncertain) => {
    const call = { id: 'c', tool: 'x', args: '{}' }
    const record = newRecord({
      sends: [{ ...send, id: 'm:0' }, send],
      turns: [turnAt(1, [call])],
      attempts: [...attempts],
    })
    const { turns } = callSettled(record, { index: 1, state: 'failed', result: { state, text: 'nobody' } })
    expect(turns?.[0]?.calls[0]?.result?.uncertain).toBe(uncertain)
  })

  test('has been tried for as long as its attempts and the pauses between took, however long it waited for us', () => {
    const record = newRecord({ turns: [turnAt(1_000)] })
    expect(triedFor(record, send, attempt('m:1', 90_000))).toBe(100)
    const attempts = [attempt('m:0', 5_000), attempt('m:1', 90_000)]
    expect(triedFor({ ...record, attempts }, send, attempt('m:1', 91_100))).toBe(1_200)
    const interrupted = [...attempts, attempt('m:1', 150_000, 'interrupted')]
    expect(triedFor({ ...record, attempts: interrupted }, send, attempt('m:1', 200_000))).toBe(8_200)
  })

  test('that has to wait for an endpoint before its first attempt waits once, whatever came before it', () => {
    const record = newRecord({ turns: [turnAt(1_000)], attempts: [attempt('m:0', 5_000)] })
    expect(hasBegun(record, send)).toBe(false)
    expect(hasBegun({ ...record, waitingFor: 'circuit_breaker' }, send)).toBe(true)
    expect(hasBegun({ ...record, attempts: [attempt('m:1', 6_000)] }, send)).toBe(true)
  })

  test('waits for an endpoint from its first attempt on, else from what came before it', () => {
    const record = newRecord({ turns: [turnAt(1_000)] })
    expect(triedSince(record, send)).toBe(1_000)
    expect(triedSince({ ...record, attempts: [attempt('m:0', 5_000)] }, send)).toBe(5_000)
    const attempts = [attempt('m:0', 5_000), attempt('m:1', 6_000), attempt('m:1', 7_000)]
    expect(triedSince({ ...record, attempts }, send)).toBe(6_000)
  })
})

describe('the bounds of a message', () => {
  const settings = turnSettingsOf({ maxTurns: 2, messageTimeoutSeconds: 10 })
  const again = { at: new Date(5_000), state: 'received' as const, reason: 'It is run again.' }

  test('count turns and time from its first turn or try', () => {
    const record = newRecord({ turns: [turnAt(2_000)] })
    expect(deadlineOf(record, { messageMs: 10_000, now: 3_000 })).toBe(11_000)
    expect(boundReached(record, { settings, now: 10_999 })).toBeUndefined()
    expect(boundReached(record, { settings, now: 11_000 })).toContain('messageTimeoutSeconds')
    const two = { ...record, turns: [turnAt(2_000), turnAt(3_000)] }
    expect(boundReached(two, { settings, now: 4_000 })).toContain('2 turns (maxTurns)')
  })

  test('do not count what was before it was run again, but for 64 turns in all', () => {
    const record = newRecord({ turns: [turnAt(2_000), turnAt(3_000)], timeline: [again] })
    expect(boundReached(record, { settings, now: 100_000 })).toBeUndefined()
    const turns = Array.from({ length: 64 }, () => turnAt(2_000))
    expect(boundReached({ ...record, turns }, { settings, now: 100_000 })).toContain('maxTurns')
  })
})

describe('calls of models', () => {
  const never = () => new Promise<never>(() => {})
  const call = (own: Partial<ModelCall> & { key: string }): ModelCall => ({
    message: own.key,
    workspace: 1,
    ended: new AbortController().signal,
    timeoutMs: 60_000,
    choices: 1,
    ask: never,
    ...own,
  })

  test('are 2,048 of a workspace alone, and another one always begins at once; next is whoever has fewer', async () => {
    const calls = createModelCalls()
    const partitions = Array.from({ length: 3 }, () => new AbortController())
    const [few, many, rest] = partitions.map(({ signal }) => signal) as [
      AbortSignal,
      AbortSignal,
      AbortSignal,
    ]
    const begun = new Map<string, Promise<void>>()
    const start = (workspace: number, n: number) => {
      const ended = workspace > 1 || n >= 700 ? rest : n < 2 ? few : many
      const key = `${workspace}-${n}`
      const started = calls.start(call({ key, workspace, ended }))
      if (started.kind === 'started') begun.set(key, started.settled)
      return started.kind
    }
    const fill = (workspace: number, n = 0): number =>
      start(workspace, n) === 'busy' ? n : fill(workspace, n + 1)
    expect([1, 2, 3].map((workspace) => fill(workspace))).toEqual([2_048, 1_536, 1_152])
    expect([start(4, 0), begun.size]).toEqual(['started', 4_737])
    const sequence: number[] = []
    const rooms = [1, 3].map(async (workspace) => {
      await calls.room({ workspace, ended: rest })
      sequence.push(workspace)
    })
    partitions[0]?.abort()
    await rooms[1]
    expect([sequence, start(3, 5_000)]).toEqual([[3], 'started'])
    partitions[1]?.abort()
    await rooms[0]
    expect(start(1, 5_000)).toBe('started')
    partitions[2]?.abort()
    expect([...begun.keys()].filter((key) => calls.has(key))).toEqual([])
    await Promise.all(begun.values())
  })

  test('of many workspaces whose models hang leave one for whoever comes', async () => {
    const calls = createModelCalls()
    const partition = new AbortController()
    const settled: Promise<void>[] = []
    const start = (workspace: number, n: number) => {
      const started = calls.start(call({ key: `${workspace}-${n}`, workspace, ended: partition.signal }))
      if (started.kind === 'started') settled.push(started.settled)
      return started.kind
    }
    for (let workspace = 1; workspace <= 25; workspace++)
      for (let n = 0; start(workspace, n) === 'started'; n++);
    expect(start(99, 0)).toBe('started')
    partition.abort()
    await Promise.all(settled)
  })

  test('that have images or audio in memory take a slot, which they give back when they end or are aborted', async () => {
    const calls = createModelCalls()
    const partition = new AbortController()
    const answer = Promise.withResolvers<ModelResult>()
    const start = (n: number, ask: ModelCall['ask'] = never) =>
      calls.start(call({ key: `${n}`, ended: partition.signal, media: 'audio', ask }))
    const asks = [() => answer.promise, ...Array.from({ length: 7 }, () => never)]
    const begun = asks.map((ask, n) => start(n, ask).kind)
    const busy = start(8)
    const { signal: ended } = partition
    const others = [undefined, 'images' as const].map(
      (media) => calls.start(call({ key: `${media}`, ended, media })).kind,
    )
    expect([begun, busy.kind, others]).toEqual([Array(8).fill('started'), 'busy', ['started', 'started']])
    answer.resolve({ kind: 'refused', code: 'x', reason: 'x' })
    if (busy.kind === 'busy') await busy.room
    expect([start(9).kind, start(10).kind]).toEqual(['started', 'busy'])
    const other = calls.start(call({ key: 'other', workspace: 2, ended: partition.signal, media: 'audio' }))
    // The latest of who has most is to be asked for again.
    expect([other.kind, calls.find('9'), calls.find('7')?.kind]).toEqual(['started', undefined, 'asking'])
    partition.abort()
    const next = new AbortController()
    await eventually(async () => {
      const { kind } = calls.start(call({ key: 'next', ended: next.signal, media: 'audio' }))
      return kind === 'started'
    })
    next.abort()
  })

  test('are not begun while 64 results of their workspace are not stored yet, so that a crash loses no more of them', async () => {
    const calls = createModelCalls()
    const partition = new AbortController()
    const ended = partition.signal
    const ask = () => Promise.resolve({ kind: 'refused' as const, code: 'x', reason: 'x' })
    const begun = Array.from({ length: 64 }, (_, n) => calls.start(call({ key: `${n}`, ended, ask })))
    expect(calls.start(call({ key: 'in flight', ended })).kind).toBe('started')
    await Promise.all(begun.map((one) => (one.kind === 'started' ? one.settled : undefined)))
    expect(calls.start(call({ key: 'of another', workspace: 2, ended })).kind).toBe('started')
    const next = calls.start(call({ key: 'next', ended }))
    calls.forget('0')
    if (next.kind === 'busy') await next.room
    expect([next.kind, calls.start(call({ key: 'next', ended })).kind]).toEqual(['busy', 'started'])
    partition.abort()
  })

  test('have room for the next that waits, although the one before does not need it any more', async () => {
    const calls = createModelCalls()
    const ended = new AbortController().signal
    const ask = () => Promise.resolve({ kind: 'refused' as const, code: 'x', reason: 'x' })
    const begun = Array.from({ length: 64 }, (_, n) => calls.start(call({ key: `${n}`, ended, ask })))
    await Promise.all(begun.map((one) => (one.kind === 'started' ? one.settled : undefined)))
    const rooms = [calls.room({ workspace: 1, ended }), calls.room({ workspace: 1, ended })]
    calls.forget('0')
    await Promise.all(rooms)
    expect(begun.filter((_, n) => calls.has(`${n}`))).toHaveLength(63)
  })

  test('of a partition that is handed over are drained, and no more of them are begun', async () => {
    const calls = createModelCalls()
    const partition = new AbortController()
    const ended = partition.signal
    const answer = Promise.withResolvers<ModelResult>()
    const other = new AbortController()
    const begun = calls.start(call({ key: 'a', ended, ask: () => answer.promise }))
    let isDrained = false
    const drained = calls.drain(ended).then(() => (isDrained = true))
    const next = calls.start(call({ key: 'b', ended }))
    expect([next.kind, isDrained]).toEqual(['busy', false])
    expect(calls.start(call({ key: 'other', ended: other.signal })).kind).toBe('started')
    answer.resolve({ kind: 'refused', code: 'x', reason: 'x' })
    if (begun.kind === 'started') await begun.settled
    expect(isDrained).toBe(false)
    calls.forget('a')
    await drained
    for (const one of [partition, other]) one.abort()
    if (next.kind === 'busy') await next.room
    expect(isDrained).toBe(true)
  })

  test('of a partition that is lost are not begun, whether it had any before', async () => {
    const calls = createModelCalls()
    const [known, unknown] = [new AbortController(), new AbortController()]
    calls.start(call({ key: 'before', ended: known.signal }))
    for (const one of [known, unknown]) one.abort()
    const asked: string[] = []
    for (const [key, { signal: ended }] of Object.entries({ known, unknown })) {
      const ask: ModelCall['ask'] = () => {
        asked.push(key)
        return Promise.resolve({ kind: 'refused', code: 'x', reason: 'x' })
      }
      const { kind } = calls.start(call({ key, ended, ask }))
      expect([key, kind]).toEqual([key, 'busy'])
      await calls.room({ workspace: 1, ended })
    }
    expect([asked, calls.has('known'), calls.has('unknown')]).toEqual([[], false, false])
  })

  test('end in time, whatever the client does', async () => {
    const calls = createModelCalls()
    const rejecting = calls.start(call({ key: 'rejects', ask: () => Promise.reject(new Error('oops')) }))
    if (rejecting.kind === 'started') await rejecting.settled
    expect(calls.find('rejects')).toMatchObject({ kind: 'ended', result: { code: 'internal_error' } })
    // The client has five seconds more than it was given.
    const hanging = calls.start(call({ key: 'hangs', timeoutMs: -4_990 }))
    if (hanging.kind === 'started') await hanging.settled
    expect(calls.find('hangs')).toMatchObject({ result: { code: 'timeout' }, isTimedOut: true })
  })

  test('are aborted together when their partition is not worked here any more', async () => {
    const calls = createModelCalls()
    const partition = new AbortController()
    const signals: AbortSignal[] = []
    for (const key of ['a', 'b', 'c']) {
      const ask = (signal: AbortSignal) => {
        signals.push(signal)
        return key === 'c' ? Promise.resolve({ kind: 'refused' as const, code: 'x', reason: 'x' }) : never()
      }
      calls.start(call({ key, ended: partition.signal, ask }))
    }
    await eventually(async () => calls.find('c')?.kind === 'ended')
    partition.abort()
    expect(signals.map(({ aborted }) => aborted).slice(0, 2)).toEqual([true, true])
    expect(['a', 'b', 'c'].filter((key) => calls.has(key))).toEqual([])
  })
})

describe('a turn', () => {
  test('is sent in sequence: its text, then its calls, with ids that count on', () => {
    const calls = ['a', 'b'].map((id) => ({ id, tool: 'x', args: '{}' }))
    const { at: _at, ...turn } = { ...turnAt(0, calls), text: 'Hm.' }
    const before: Send = { id: 'm:0', content: { kind: 'text', text: 'x' }, state: 'sent' }
    const { sends } = turnStored(newRecord({ sends: [before], turns: [turnAt(1)] }), { turn, at: 5 })
    expect(sends.slice(1)).toEqual([
      { id: 'm:1', content: { kind: 'text', text: 'Hm.' }, state: 'pending', of: { turn: 1 } },
      { id: 'm:2', content: { kind: 'tool', name: 'x' }, state: 'pending', of: { turn: 1, call: 0 } },
      { id: 'm:3', content: { kind: 'tool', name: 'x' }, state: 'pending', of: { turn: 1, call: 1 } },
    ])
  })

  test('is cut between characters', () => {
    expect([cutTo('aé', 3), cutTo('aé', 2), cutTo('a😀', 4)]).toEqual([
      { text: 'aé' },
      { text: 'a', cut: true },
      { text: 'a', cut: true },
    ])
  })
})
