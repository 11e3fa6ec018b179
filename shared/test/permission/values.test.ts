import { describe, expect, test } from '@jest/globals'
import { call, compare, equal, grants, valueAt, workspaceOf } from '@parley/shared/permission/values'

const doc = {
  none: null,
  text: 'text',
  at: new Date(7),
  list: [1],
  deep: { list: [{ x: 1 }], x: { y: 2 } },
  bare: Object.assign(Object.create(null), { x: 3 }),
  made: Object.assign(Object.create({ x: 4 }), { y: 5 }),
}

describe('order', () => {
  test.each(['<', '<=', '>', '>='] as const)('%s orders text by code point, as MongoDB does', (operator) => {
    const texts = [
      '',
      'a',
      'ab',
      'b',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{10000}a',
      '\u{103fe}',
      '\u{103ff}',
      '\u{10ffff}',
    ]
    for (const [l, left] of texts.entries())
      for (const [r, right] of texts.entries())
        expect([left, right, compare(operator, left, right)]).toEqual([
          ...[left, right],
          { '<': l < r, '<=': l <= r, '>': l > r, '>=': l >= r }[operator],
        ])
  })
})

describe('a path', () => {
  test.each<[string, string[], unknown]>([
    ['leads through objects', ['deep', 'x', 'y'], 2],
    ['leads through an object without prototype', ['bare', 'x'], 3],
    ['does not lead into one that was made by a class', ['made', 'y'], undefined],
    ['does not lead to what an object inherits', ['constructor'], undefined],
    ['does not lead into an array', ['list', 'length'], undefined],
    ['does not lead into text', ['text', 'length'], undefined],
    ['does not lead into a date', ['at', 'getTime'], undefined],
    ['does not lead beyond null', ['none', 'x'], undefined],
    ['leads to an array', ['deep', 'list'], doc.deep.list],
  ])('%s', (_name, keys, expected) => {
    expect(valueAt(doc, keys)).toStrictEqual(expected)
  })

  test.each([undefined, null, 'text', 7, () => 1])('from %p leads nowhere', (start) => {
    expect(valueAt(start, ['length'])).toBeUndefined()
  })
})

describe('what a value grants', () => {
  test.each<[unknown, number | undefined, boolean]>([
    [true, 7, true],
    [true, undefined, true],
    [7, 7, true],
    [8, 7, false],
    ['7', 7, false],
    [[1, 7], 7, true],
    [[[7]], 7, false],
    [[true], 7, false],
    [1, 7, false],
    ['true', 7, false],
    [undefined, undefined, false],
    [[undefined], undefined, false],
    [{}, 7, false],
  ])('%j in workspace %p: %p', (value, workspace, expected) => {
    expect(grants(value, workspace)).toBe(expected)
  })

  test.each<[object, number | undefined]>([
    [{ workspace: { _id: 7 } }, 7],
    [{ workspace: { _id: -1 } }, -1],
    [{ workspace: { _id: 0 } }, undefined],
    [{ workspace: { _id: Number.NaN } }, undefined],
    [{ workspace: { _id: '7' } }, undefined],
    [{ workspace: [7] }, undefined],
    [{ _id: 7 }, undefined],
    [{}, undefined],
  ])('the workspace of %j is %p', (account, expected) => {
    expect(workspaceOf(account)).toBe(expected)
  })
})

test('nothing is equal to itself but null, booleans, numbers and text', () => {
  for (const value of [null, true, false, 0, 1.5, '', 'a']) expect(equal(value, value)).toBe(true)
  for (const value of [undefined, [], {}, new Date(0), () => 1]) expect(equal(value, value)).toBe(false)
  expect([equal(1, '1'), equal(0, false), equal(null, undefined), equal('', 0)]).not.toContain(true)
})

test('an item that equals nothing is not found', () => {
  const item = {}
  expect(call('in', [item], item)).toBe(false)
  expect(call('indexOf', [item, 1], 1)).toBe(1)
  expect(call('in', undefined, undefined)).toBe(false)
})
