import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, test } from '@jest/globals'
import { createSpecReader, createTimeBudget } from '../src/channels/functions/spec-reader.ts'
import type { SpecTask } from '../src/channels/functions/spec-task.ts'
import { createSpecThread } from '../src/channels/functions/spec-thread.ts'

const TASK_MS = 1_000
const specs = createSpecReader({ taskMs: TASK_MS })
afterAll(() => specs.close())

const specOf = (schema: string) => `
openapi: 3.1.0
servers: [{ url: 'https://x.example' }]
paths:
  /a: { post: { operationId: a, requestBody: { content: { application/json: { schema: ${schema} } } } } }
`
const task = (workspace: number, name: string, spec: string, args: object = { x: 1 }): SpecTask => ({
  kind: 'request',
  workspace,
  key: `${workspace}/${name}`,
  spec,
  operationId: 'a',
  native: true,
  args: JSON.stringify(args),
})
const fine = (workspace: number, name: string) => task(workspace, name, specOf('{ type: object }'))
/** Doubles with each step. */
const doubling = (workspace: number, name: string, length: number) => {
  const steps = Array.from({ length }, (_, n) => {
    const next = `{ $ref: '#/s/n${n + 1}' }`
    return `n${n}: { allOf: [${next}, ${next}] }`
  })
  return task(
    workspace,
    name,
    `${specOf("{ $ref: '#/s/n0' }")}s: { ${steps.join(', ')}, n${length}: { type: object } }`,
  )
}
const endless = (workspace: number, name: string) => doubling(workspace, name, 40)
const patterned = (workspace: number, name: string, pattern: string) =>
  task(workspace, name, specOf(`{ properties: { x: { type: string, pattern: '${pattern}' } } }`), {
    x: `${'a'.repeat(60)}!`,
  })

describe('specs are read outside of the event loop', () => {
  test('schemas that double with each step are given up, and the event loop goes on meanwhile', async () => {
    const started = performance.now()
    let longest = 0
    let last = started
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    expect(await specs.ask(endless(1, 'doubling'))).toEqual({ kind: 'too_slow' })
    clearInterval(beat)
    expect(longest).toBeLessThan(performance.now() - started - 500)
  })

  test('one that was given up is not tried again for a while', async () => {
    const started = performance.now()
    expect(await specs.ask(fine(1, 'doubling'))).toEqual({ kind: 'too_slow' })
    expect(performance.now() - started).toBeLessThan(900)
  })

  test('a machine that is full makes none too slow', async () => {
    const long = (name: string) => doubling(1, name, 17)
    const alone = createSpecThread({ taskMs: 60_000 })
    const { ms } = await alone.run(long('alone'))
    await alone.close()
    const thread = createSpecThread({ taskMs: Math.ceil(2 * ms) })
    await thread.run(fine(1, 'starts the thread'))
    const busy = Array.from(
      { length: 6 * availableParallelism() },
      () => new Worker('for (;;);', { eval: true }),
    )
    await Promise.all(busy.map((worker) => once(worker, 'online')))
    const started = performance.now()
    const { end } = await thread.run(long('on a full machine'))
    const tookMs = performance.now() - started
    await Promise.all([thread.close(), ...busy.map((worker) => worker.terminate())])
    expect({ kind: end.kind, isLate: tookMs > 2 * ms }).toEqual({ kind: 'request', isLate: true })
  })

  test('what is asked when it has closed is refused, and what waits then', async () => {
    const closed = createSpecReader()
    const waiting = closed.ask(fine(1, 'x'))
    const refused = expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    await closed.close()
    await refused
    await expect(closed.ask(fine(1, 'x'))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('patterns of a spec are matched in time linear in the text', () => {
  test.each(['^(a|a)*$', '^(a+)+$', '^(a*)*$', '(a|aa)+$', '^([a-z]+)*[a-z]+$'])('%s', async (pattern) => {
    const answer = await specs.ask(patterned(2, pattern, pattern))
    expect(answer).toMatchObject({ kind: 'bad_args', reason: 'breaks "pattern" of the schema' })
  })

  test('also those of the names of properties', async () => {
    const spec = specOf("{ patternProperties: { '^(a|a)*$': false } }")
    const answer = await specs.ask(task(2, 'names', spec, { [`${'a'.repeat(60)}!`]: 1 }))
    expect(answer).toMatchObject({ kind: 'request' })
  })

  test.each(['^(?=a)a', '^(a)\\1', '^a{1,5000}$'])(
    '%s, which can not be, is refused with a reason',
    async (pattern) => {
      const answer = await specs.ask(patterned(2, `refused ${pattern}`, pattern))
      expect(answer).toMatchObject({
        kind: 'bad_spec',
        reason: expect.stringMatching(/RE2, which matches in linear time/),
      })
    },
  )
})

describe('workspaces share the threads', () => {
  test('eight specs of one that take for ever delay another one by none of their time', async () => {
    const shared = createSpecReader({ taskMs: TASK_MS })
    // The threads have started.
    await Promise.all([1, 2].map((workspace) => shared.ask(fine(workspace, 'first'))))
    const ended: string[] = []
    const ask = (name: string, one: SpecTask) => shared.ask(one).then(() => ended.push(name))
    const hostile = Array.from({ length: 8 }, (_, n) => ask('hostile', endless(1, `endless-${n}`)))
    const others = Array.from({ length: 5 }, (_, n) => ask('other', fine(2, `other-${n}`)))
    await Promise.all(others)
    expect(ended).toEqual(Array(5).fill('other'))
    const all = Promise.allSettled(hostile)
    await shared.close()
    await all
  })

  test('a spec that was quick before is not delayed by eight workspaces whose specs take for ever', async () => {
    const shared = createSpecReader({ taskMs: TASK_MS })
    // The first time a thread is new.
    for (let time = 0; time < 2; time++) await shared.ask(fine(9, 'known'))
    const ended: string[] = []
    const ask = (name: string, one: SpecTask) => shared.ask(one).then(() => ended.push(name))
    const hostile = Array.from({ length: 8 }, (_, n) => ask('hostile', endless(n, 'endless')))
    await ask('other', fine(9, 'known'))
    expect(ended).toEqual(['other'])
    const all = Promise.allSettled(hostile)
    await shared.close()
    await all
  })

  test('one that has used up its time waits behind the others, until it has got some back', () => {
    let now = 0
    const budget = createTimeBudget(() => now)
    budget.spend(1, 999)
    expect(budget.isSpent(1)).toBe(false)
    budget.spend(1, 3_000)
    expect([budget.isSpent(1), budget.isSpent(2)]).toEqual([true, false])
    now = 29_980
    expect(budget.isSpent(1)).toBe(true)
    now = 30_000
    expect(budget.isSpent(1)).toBe(false)
  })
})
