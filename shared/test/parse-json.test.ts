import { describe, expect, test } from '@jest/globals'
import { parseJson } from '@parley/shared/parse-json'
import fc from 'fast-check'

describe('parseJson', () => {
  test.each([
    ['\\', '\n'],
    ['\\', '"'],
    ['a\\', 'a\t'],
    ['\\\\', '\\n'],
  ])('reads a key after %j was read in its place: %j', (before, key) => {
    const text = (name: string) => JSON.stringify({ first: 1, [name]: [{ [name]: 2 }] })
    for (let times = 0; times < 3; times++) {
      expect(JSON.stringify(parseJson(text(before)))).toBe(text(before))
      expect(JSON.stringify(parseJson(text(key)))).toBe(text(key))
    }
  })

  test('reads all that JSON.stringify writes', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\n', '__proto__', 'a\\"b', '0'))
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), tie('object'), fc.array(tie('value'))),
      object: fc.array(fc.tuple(key, tie('value'))).map((entries) => Object.fromEntries(entries)),
    }))
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, '\t'), (given, space) => {
        const text = JSON.stringify(given, null, space)
        expect(JSON.stringify(parseJson(text), null, space)).toBe(text)
      }),
    )
  })

  test.each([
    [
      '{"\\n":1,"b":0,"\\n":2}',
      [
        ['\n', 2],
        ['b', 0],
      ],
    ],
    ['{"\\u0041" : -0.5e1 }', [['A', -5]]],
    ['{"\\"":[ null , true,"x" , {}]}', [['"', [null, true, 'x', {}]]]],
    ['{"\\\\":{"__proto__":1}}', [['\\', JSON.parse('{"__proto__":1}')]]],
  ] as const)('reads %s', (text, entries) => {
    expect(Object.entries(parseJson(text) as object)).toEqual(entries)
  })

  test.each(['{"\\n":1', '{"\\n":01}', '{"\\x":1}', '', '{"\\n":1}}'])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })
})
