import { describe, expect, test } from '@jest/globals'
import { ForeignDocumentError, readForeignDocument, sizeOf } from '@parley/shared/foreign-document'
import fc from 'fast-check'
import { load } from 'js-yaml'

const NODES = 250_000
const TEXT = 4 * 1024 * 1024
const TOO_MANY = `expands to more than ${NODES} nodes`
const TOO_LONG = `expands to more than ${TEXT} characters of JSON`
const READ_MS = 1_000

function refusal(text: string): string | undefined {
  try {
    readForeignDocument(text)
    return undefined
  } catch (error) {
    if (error instanceof ForeignDocumentError) return error.message
    throw error
  }
}

/** Of the processor: the machine may have other work. */
function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/** Steps of nine aliases of the one before. */
const bomb = (steps: number, first = 'lollollol') =>
  Array.from({ length: steps }, (_, n) => {
    const item = n === 0 ? JSON.stringify(first) : `*b${n - 1}`
    return `b${n}: &b${n} [${Array(9).fill(item).join(',')}]`
  }).join('\n')
const members = (count: number, name = 'k') =>
  Array.from({ length: count }, (_, n) => `${name}${n}: 1`).join(', ')

describe('what a document expands to is counted', () => {
  test.each([
    ['a bomb of arrays', bomb(9), TOO_MANY],
    ['a bomb of 60 steps, more than a number can count', bomb(60), TOO_MANY],
    ['a long text in few places', `a: &a "${'x'.repeat(100_000)}"\nb: [${'*a, '.repeat(50)}]`, TOO_LONG],
    ['a long key in few places', `a: &a {"${'x'.repeat(100_000)}": 1}\nb: [${'*a, '.repeat(50)}]`, TOO_LONG],
    [
      'a long scalar as many keys',
      `a: &a "${'x'.repeat(100_000)}"\n${Array.from({ length: 60 }, (_, n) => `k${n}: {*a : 1}`).join('\n')}`,
      TOO_LONG,
    ],
    [
      'merge keys',
      `m: &m {${members(3_000)}}\n${Array.from({ length: 120 }, (_, n) => `q${n}: {<<: *m}`).join('\n')}`,
      TOO_MANY,
    ],
    ['texts that grow by their escapes', `a: &a "${'\\0'.repeat(400_000)}"\nb: *a`, TOO_LONG],
    ['many plain items', `[${'a,'.repeat(NODES)}]`, TOO_MANY],
    ['an alias in itself', 'a: &a { b: *a }', 'contains itself'],
    ['an alias in itself, at the top', '&a [*a]', 'contains itself'],
    [
      'aliases that nest',
      `b0: &b0 []\n${Array.from({ length: 5_000 }, (_, n) => `b${n + 1}: &b${n + 1} [*b${n}]`).join('\n')}`,
      'is nested deeper than 100 levels',
    ],
    [
      'aliases that nest and are read from the outside',
      `x: [${Array.from({ length: 5_000 }, (_, n) => `{"y": &b${n + 1} [${n === 0 ? '' : `*b${n}`}]}`)
        .reverse()
        .join(',')}]`,
      'is no YAML',
    ],
    [
      'keys that come in another order than they are written',
      `z: &z0 []\n${Array.from({ length: 500 }, (_, n) => `${1_000 - n}: &z${n + 1} [*z${n}]`).join('\n')}`,
      'is nested deeper than 100 levels',
    ],
    ['plain nesting', `x: ${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'is no YAML'],
    ['131,071 documents', '---\n'.repeat(131_071), 'is no YAML'],
    ['nothing', '', 'is no YAML'],
    ['more than 4 Mi characters', 'x'.repeat(4 * 1024 * 1024 + 1), 'is longer than 4194304 characters'],
  ])('%s', (_name, text, reason) => {
    const before = process.threadCpuUsage()
    expect(refusal(text)).toBe(reason)
    expect(millisecondsSince(before)).toBeLessThan(READ_MS)
  })

  test('up to the bound, and not beyond', () => {
    // The mapping, the two arrays, and their items.
    const nodes = (count: number) => `a: &a [${'1,'.repeat(124_998)}]\nb: *a\nc: [${'1,'.repeat(count)}]`
    expect(refusal(nodes(0))).toBeUndefined()
    expect(sizeOf(load(nodes(0))).nodes).toBe(NODES)
    expect(refusal(nodes(1))).toBe(TOO_MANY)
    const text = (more: number) =>
      `a: &a "${'x'.repeat(400_000)}"\nb: [*a,*a,*a,*a]\nc: "${'x'.repeat(TEXT - 5 * 400_002 - 23 + more)}"`
    expect(JSON.stringify(load(text(0))).length).toBe(TEXT)
    expect(refusal(text(0))).toBeUndefined()
    expect(refusal(text(1))).toBe(TOO_LONG)
  })

  test('the same anchors in 15,000 places are no reason', () => {
    const text = Array.from({ length: 15_000 }, (_, n) => `k${n}: &a${n} {}`).join('\n')
    expect(refusal(text)).toBeUndefined()
  })

  test('a parser that quotes from the text is cut', () => {
    try {
      readForeignDocument(`a: *${'x'.repeat(100_000)}`)
    } catch (error) {
      expect((error as ForeignDocumentError).syntax?.length).toBeLessThanOrEqual(200)
    }
  })
})

/** A text with anchors and aliases; what an alias names stands before it, or nowhere, or around it. */
const documents = (() => {
  const scalar = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)),
    fc.constantFrom(
      '1',
      '-0',
      '1e3',
      '.inf',
      '.nan',
      '0x1f',
      'true',
      '~',
      '',
      'plain text',
      "'it''s'",
      '!!str 5',
    ),
    fc.double().map(String),
  )
  const name = fc.integer({ min: 0, max: 5 })
  const anchored = (value: fc.Arbitrary<string>) =>
    fc.tuple(fc.option(name), value).map(([n, text]) => (n === null ? text : `&n${n} ${text}`))
  const { value } = fc.letrec<{ value: string }>((tie) => {
    const items = fc.array(tie('value'), { maxLength: 5 })
    const pairs = fc.array(fc.tuple(fc.oneof(fc.string({ maxLength: 5 }), fc.constant('<<')), tie('value')), {
      maxLength: 5,
    })
    return {
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        { arbitrary: anchored(scalar), weight: 3 },
        { arbitrary: name.map((n) => `*n${n} `), weight: 3 },
        { arbitrary: anchored(items.map((all) => `[ ${all.join(' , ')} ]`)), weight: 2 },
        {
          arbitrary: anchored(
            pairs.map(
              (all) => `{ ${all.map(([key, one]) => `${JSON.stringify(key)}: ${one}`).join(' , ')} }`,
            ),
          ),
          weight: 2,
        },
      ),
    }
  })
  const known = [
    '- &n0 ""',
    '- &n1 [ *n0 , 5 ]',
    '- &n2 { a: *n1 , b: *n1 }',
    '- &n3 [ *n2 ]',
    '- &n4 1.50',
    '- &n5 é',
  ]
  return fc
    .array(value, { minLength: 1, maxLength: 12 })
    .map((all) => [...known, ...all.map((one) => `- ${one}`)].join('\n'))
})()

const countNodes = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 1
    : Object.values(value).reduce<number>((sum, one) => sum + countNodes(one), 1)

describe('by random documents with aliases', () => {
  test('the size is that of the JSON which the document expands to', () => {
    let compared = 0
    fc.assert(
      fc.property(documents, (text) => {
        let value: unknown
        try {
          value = readForeignDocument(text)
        } catch (error) {
          return error instanceof ForeignDocumentError
        }
        compared++
        return (
          sizeOf(value).text === JSON.stringify(value).length && sizeOf(value).nodes === countNodes(value)
        )
      }),
      { numRuns: 3_000 },
    )
    expect(compared).toBeGreaterThan(1_000)
  })

  test('what is read is what the parser reads, and never over the bounds', () => {
    const steps = fc.array(fc.tuple(documents, fc.integer({ min: 1, max: 40 })), { maxLength: 6 })
    fc.assert(
      fc.property(documents, steps, (first, more) => {
        const text = more.reduce(
          (made, [next, times], n) => `${made}\n- &s${n + 1} [${`*s${n}, `.repeat(times)}]\n${next}`,
          `- &s0\n${first.replaceAll(/^/gm, '  ')}`,
        )
        const before = process.threadCpuUsage()
        let value: unknown
        try {
          value = readForeignDocument(text)
        } catch (error) {
          return error instanceof ForeignDocumentError && millisecondsSince(before) < READ_MS
        }
        const json = JSON.stringify(value)
        return json.length <= TEXT && json === JSON.stringify(load(text))
      }),
      { numRuns: 500 },
    )
  })
})
