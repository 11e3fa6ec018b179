import { afterAll, describe, expect, test } from '@jest/globals'
import { createSpecReader, createTimeBudget } from '../../src/functions/spec-reader.ts'
import type { SpecTask } from '../../src/functions/spec-task.ts'

/** Of what takes for ever and is waited for. */
const SOON = { taskMs: 200, firstMs: 100 }
/** Of what ends, and of what nobody waits for. */
const LATE = { taskMs: 60_000, firstMs: 60_000 }
const specs = createSpecReader(LATE)
const hasty = createSpecReader(SOON)
afterAll(() => Promise.all([specs.close(), hasty.close()]))

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
  moduleUrl: 'native:request',
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
    expect(await hasty.ask(endless(1, 'doubling'))).toEqual({ kind: 'too_slow' })
    clearInterval(beat)
    expect(longest).toBeLessThan((performance.now() - started) / 2)
  })

  test('one that was given up is not tried again for a while', async () => {
    expect(await hasty.ask(fine(1, 'doubling'))).toEqual({ kind: 'too_slow' })
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

describe('a spec that costs too much', () => {
  const counted = 'expands to more than 250000 nodes'
  /** Steps of nine aliases of the one before, in a place that is taken over as it is. */
  const bomb = (place: string) => {
    const steps = Array.from({ length: 9 }, (_, n) => {
      const item = n === 0 ? '"lollollol"' : `*b${n - 1}`
      return `b${n}: &b${n} [${Array(9).fill(item).join(',')}]`
    })
    return `${steps.join('\n')}\n${specOf(`{ ${place}: *b8 }`)}`
  }

  test.each(['enum', 'const', 'required', 'type', 'default', 'examples'])(
    'with a bomb of aliases in %s is refused with a reason, for calls as for tools',
    async (place) => {
      const spec = { workspace: 3, key: `3/${place}`, spec: bomb(place) }
      expect(await specs.ask({ ...spec, kind: 'operations' })).toEqual({ kind: 'bad_spec', reason: counted })
      expect(await specs.ask({ ...spec, kind: 'tools' })).toEqual({ kind: 'bad_spec', reason: counted })
      expect(await specs.ask({ ...task(3, place, spec.spec) })).toEqual({ kind: 'bad_spec', reason: counted })
    },
  )

  test('is not read again for each message', async () => {
    const key = '4/again'
    const ask = (spec: string) => specs.ask({ kind: 'operations', workspace: 4, key, spec })
    expect(await ask(bomb('enum'))).toEqual({ kind: 'bad_spec', reason: counted })
    expect(await ask('openapi: 3.1.0\npaths: {}')).toEqual({ kind: 'bad_spec', reason: counted })
  })

  test('that is known waits for no process', async () => {
    const shared = createSpecReader(SOON)
    expect(await shared.ask(endless(5, 'known'))).toEqual({ kind: 'too_slow' })
    const running = [6, 7].map((workspace) => shared.ask(endless(workspace, 'endless')))
    const ended: string[] = []
    const all = Promise.all(running.map((one) => one.then(() => ended.push('running'))))
    expect(await shared.ask(endless(5, 'known'))).toEqual({ kind: 'too_slow' })
    expect(ended).toEqual([])
    await all
    await shared.close()
  })
})

describe('references are written out for models within a bound', () => {
  const long = 'x'.repeat(200_000)
  const many = (schema: string, count = 1_900) =>
    `{ properties: { ${Array.from({ length: count }, (_, n) => `k${n}: ${schema}`).join(', ')} } }`
  const wide = Array.from({ length: 12 }, (_, n) => {
    const properties = Array.from({ length: 12 }, (_, m) => `p${m}: { $ref: '#/s/w${n + 1}' }`)
    return `w${n}: { properties: { ${properties.join(', ')} } }`
  })
  test.each([
    ['a long text in an enum', many("{ $ref: '#/s/e' }"), `e: { enum: ['${long}'] }`],
    ['a long constant', many("{ $ref: '#/s/e' }"), `e: { const: '${long}' }`],
    ['a long name', many("{ $ref: '#/s/e' }"), `e: { properties: { '${long}': {} } }`],
    ['many that are required', many("{ $ref: '#/s/e' }"), `e: { required: [${'name, '.repeat(20_000)}] }`],
    ['width and depth', "{ $ref: '#/s/w0' }", `${wide.join(', ')}, w12: {}`],
  ])('%s', async (name, schema, schemas) => {
    const spec = `${specOf(schema)}s: { ${schemas} }`
    const answer = await specs.ask({ kind: 'tools', workspace: 8, key: `8/${name}`, spec })
    expect(answer).toMatchObject({ kind: 'tools', tools: [{ name: 'a' }], left: 0 })
    expect(JSON.stringify(answer).length).toBeLessThan(70 * 1024)
  })

  test('names and texts that are referred to again and again make no long result', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `s${n}`)
    const alternative = `{ ${names.map((name) => `${name}: []`).join(', ')} }`
    const security = `security: [${Array(50).fill(alternative).join(', ')}]`
    const spec = `${specOf('{}').replace('requestBody', `${security}, requestBody`)}
components: { securitySchemes: { ${names.map((name) => `${name}: { type: apiKey, in: query, name: ${'n'.repeat(8_000)} }`).join(', ')} } }
`
    expect(await specs.ask(task(8, 'security', spec))).toEqual({
      kind: 'bad_spec',
      reason: 'expands to more than 4 MiB when it is used',
    })
  })

  test.each([
    ['without a value', '', '{a}'.repeat(50_000)],
    [
      'with a long value',
      `, variables: { a: { default: '${'x'.repeat(1_000)}' } }`,
      `https://x.example/${'{a}'.repeat(2_000)}`,
    ],
  ])('variables of a server that stand in it again and again, %s', async (name, variables, url) => {
    const spec = specOf('{}').replace("'https://x.example'", `'${url}'${variables}`)
    expect(await specs.ask(task(8, `server ${name}`, spec))).toEqual({
      kind: 'bad_spec',
      reason: 'has a server whose URL is longer than 8192 characters',
    })
  })

  test('what a reason quotes is cut', async () => {
    const answer = await specs.ask(task(8, 'reason', specOf(`{ $ref: '#/${'x'.repeat(100_000)}' }`)))
    expect(answer).toMatchObject({
      kind: 'bad_spec',
      reason: expect.stringMatching(/^has a reference to nothing: #\/x+…$/),
    })
    expect(JSON.stringify(answer).length).toBeLessThan(1_000)
  })
})

describe('workspaces share the processes', () => {
  test('eight specs of one that take for ever delay another one by none of their time', async () => {
    const shared = createSpecReader({ ...LATE, firstMs: 500 })
    // The processes have started.
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
    const shared = createSpecReader({ ...LATE, firstMs: 500 })
    // The first time a process is new.
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

  test('a spec that is new is not delayed by more than the first time of eight workspaces whose specs take for ever', async () => {
    const shared = createSpecReader({ ...LATE, firstMs: 100 })
    const hostile = Array.from({ length: 8 }, (_, n) => shared.ask(endless(n, 'endless')))
    const all = Promise.allSettled(hostile)
    expect(await shared.ask(fine(9, 'new'))).toMatchObject({ kind: 'request' })
    expect(await shared.ask(fine(10, 'new, while one of those has all of its time'))).toMatchObject({
      kind: 'request',
    })
    await shared.close()
    await all
  })

  test('a spec that was quick has no more time for what takes for ever', async () => {
    const shared = createSpecReader({ ...LATE, firstMs: 100 })
    const quick = (workspace: number) => {
      const { key, spec } = endless(workspace, 'quick at first')
      return shared.ask({ kind: 'operations', workspace, key, spec })
    }
    for (const workspace of [1, 2, 3]) expect(await quick(workspace)).toMatchObject({ kind: 'operations' })
    const all = Promise.allSettled([1, 2, 3].map((n) => shared.ask(endless(n, 'quick at first'))))
    expect(await shared.ask(fine(9, 'new'))).toMatchObject({ kind: 'request' })
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
