import { afterAll, describe, expect, test } from '@jest/globals'
import { createSpecReader } from '../src/functions/spec-reader.ts'
import type { SpecTask } from '../src/functions/spec-task.ts'

const specs = createSpecReader({ taskMs: 1_000 })
afterAll(() => specs.close())

const specOf = (schema: string) => `
openapi: 3.1.0
servers: [{ url: 'https://x.example' }]
paths:
  /a: { post: { operationId: a, requestBody: { content: { application/json: { schema: ${schema} } } } } }
`
const task = (key: string, spec: string, args: object): SpecTask => ({
  ...{ kind: 'request', key, spec, operationId: 'a', native: true },
  args: JSON.stringify(args),
})
const fine = (key: string) => task(key, specOf('{ type: object }'), { x: 1 })

describe('specs are worked with away from the event loop', () => {
  test('a pattern that takes for ever is given up, and those that come after are not held up', async () => {
    const endless = specOf("{ properties: { x: { type: string, pattern: '^(a+)+$' } } }")
    const asked = [specs.ask(task('endless', endless, { x: `${'a'.repeat(60)}!` })), specs.ask(fine('other'))]
    const started = performance.now()
    let longest = 0
    let last = started
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual(['too_slow', 'request'])
    clearInterval(beat)
    expect(longest).toBeLessThan(performance.now() - started - 500)
  })

  test('one that was given up is not tried again for a while', async () => {
    const started = performance.now()
    expect(await specs.ask(task('endless', specOf('{}'), {}))).toEqual({ kind: 'too_slow' })
    expect(performance.now() - started).toBeLessThan(900)
  })

  test('schemas that double with each step end too', async () => {
    const steps = Array.from({ length: 40 }, (_, n) => {
      const next = `{ $ref: '#/s/n${n + 1}' }`
      return `n${n}: { allOf: [${next}, ${next}] }`
    })
    const spec = `${specOf("{ $ref: '#/s/n0' }")}s: { ${steps.join(', ')}, n40: { type: object } }`
    expect(await specs.ask(task('doubling', spec, { x: 1 }))).toEqual({ kind: 'too_slow' })
    expect((await specs.ask(fine('after'))).kind).toBe('request')
  })

  test('what is asked when it has closed is refused', async () => {
    const closed = createSpecReader()
    await closed.close()
    await expect(closed.ask(fine('x'))).rejects.toMatchObject({ code: 'unavailable' })
  })
})
