import { describe, expect, test } from '@jest/globals'
import { findJsonError } from '@parley/shared/json-error'
import fc from 'fast-check'

describe('the place where a text stops being JSON', () => {
  test.each<[string, number, number, string]>([
    ['{"a": 1,}', 1, 9, 'a key in double quotes'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'a comma or }'],
    ["{'a': 1}", 1, 2, 'a key in double quotes'],
    ['{"a" 1}', 1, 6, 'a colon'],
    ['{"a": tru}', 1, 7, 'a value'],
    ['[1, 2', 1, 6, 'a comma or ]'],
    ['[1,]', 1, 4, 'a value'],
    ['{} {}', 1, 4, 'the end of the body'],
    ['["a\nb"]', 1, 4, 'no control character in a string'],
    ['["\\x"]', 1, 3, 'an escape such as \\n or \\u00e9'],
    ['"abc', 1, 5, 'the end of the string'],
    ['01', 1, 2, 'the end of the body'],
    ['', 1, 1, 'a value'],
  ])('%j: line %i, column %i, %s', (text, line, column, expected) => {
    expect(findJsonError(text)).toEqual({ line, column, expected })
  })

  test('is found in just those texts that JSON.parse refuses', () => {
    const broken = fc.tuple(
      fc.jsonValue({ maxDepth: 6 }),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', ':', '\\', ' ', '1', 'x'),
    )
    const text = broken.map(([value, at, put]) => {
      const whole = JSON.stringify(value, null, 1)
      const cut = at % (whole.length + 1)
      return whole.slice(0, cut) + put + whole.slice(cut + 1)
    })
    fc.assert(
      fc.property(text, (given) => {
        expect(findJsonError(given) === undefined).toBe(parses(given))
      }),
      { numRuns: 2_000 },
    )
  })

  test('of a long string is found without running out of stack', () => {
    expect(findJsonError(`{"a": "${'x'.repeat(16_000_000)}", }`)).toMatchObject({
      line: 1,
      column: 16_000_011,
    })
  })
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
