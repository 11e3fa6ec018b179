import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  canonical,
  compareDecimals,
  decimalOf,
  exactNumber,
  isExactNumber,
  isInteger,
  isMultipleOf,
} from '../src/exact-number.ts'
import { parseExact, parseJson } from '../src/parse-json.ts'

/** Numbers as JSON may write them, many of them such that doubles don't. */
const token = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 53n + 9n })),
    fc.option(fc.stringMatching(/^[0-9]{1,25}$/), { nil: undefined }),
    fc.option(fc.integer({ min: -420, max: 420 }), { nil: undefined, freq: 4 }),
  )
  .map(
    ([sign, whole, fraction, power]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${power === undefined ? '' : `e${power}`}`,
  )
  // It is written as 0.
  .filter((text) => !/^-[0.]+(e|$)/.test(text))
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    token,
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'null'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
    fc
      .uniqueArray(fc.tuple(fc.string(), tie('value')), { selector: ([key]) => key, maxLength: 4 })
      .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(',')}}`),
  ),
})).value

describe('a number of JSON', () => {
  test.each([
    ['1', 1],
    ['-0', -0],
    ['1.0', 1],
    ['1e2', 100],
    ['0.1', 0.1],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['725653563933458400', 725653563933458400],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
  ])('%s is itself where a double prints it', (text, number) => {
    expect(exactNumber(text)).toBe(number)
  })

  test.each([
    '9007199254740993',
    '-9007199254740993',
    '1917043659912705296',
    '725653563933458432',
    '9007199254740993.0',
    '9.007199254740993e15',
    '0.1000000000000000055',
    '1e400',
    '-1e400',
    '1e-400',
    '1.51e-323',
  ])('%s is as it is written, where a double prints another one', (text) => {
    const number = exactNumber(text)
    expect([isExactNumber(number), JSON.stringify({ number })]).toEqual([true, `{"number":${text}}`])
  })

  test('has the same value after it was read and written, whatever it is and wherever it stands', () => {
    const numbersIn = (text: string) =>
      (text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/-?\d[\d.eE+-]*/g) ?? []).map(canonical).sort()
    fc.assert(
      fc.property(json, (text) => {
        const written = JSON.stringify(parseExact(text))
        expect(numbersIn(written)).toEqual(numbersIn(text))
        expect(parseJson(written)).toEqual(parseJson(text))
      }),
      { numRuns: 500 },
    )
  })
})

describe('numbers beyond doubles', () => {
  const decimal = fc.tuple(
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
    fc.integer({ min: 0, max: 12 }),
  )
  const textOf = ([digits, places]: [bigint, number]) => `${digits}e-${places}`

  test('are compared, and known as integers and multiples, as exact arithmetic has it', () => {
    fc.assert(
      fc.property(decimal, decimal, (one, other) => {
        const [a, b] = [one, other].map(([digits, places]) => digits * 10n ** BigInt(12 - places)) as [
          bigint,
          bigint,
        ]
        const [left, right] = [decimalOf(textOf(one)), decimalOf(textOf(other))]
        expect(Math.sign(compareDecimals(left, right)) + 0).toBe(a === b ? 0 : a < b ? -1 : 1)
        expect(isInteger(left)).toBe(a % 10n ** 12n === 0n)
        expect(isMultipleOf(left, right)).toBe(a === 0n || (b !== 0n && a % b === 0n))
        expect(canonical(textOf(one)) === canonical(textOf(other))).toBe(a === b)
      }),
      { numRuns: 500 },
    )
  })

  test('cost nothing to speak of, however large they say that they are', () => {
    const [huge, three] = [decimalOf('1e999999999'), decimalOf('3')]
    expect([isMultipleOf(huge, three), compareDecimals(huge, three) > 0, isInteger(huge)]).toEqual([
      false,
      true,
      true,
    ])
  })
})
