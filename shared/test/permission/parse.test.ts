import { describe, expect, test } from '@jest/globals'
import { parse } from '@parley/shared/permission/parse'
import jsep from 'jsep'

const refusal = (source: string) => {
  const parsed = parse(source)
  return 'error' in parsed ? parsed.error : undefined
}

describe('what is no expression is refused with its column', () => {
  test.each<[string, string, number]>([
    ['nothing', '', 1],
    ['blanks', '   ', 4],
    ['half an expression', '{{resource}} ==', 16],
    ['an unclosed string', "{{resource}} == 'users", 23],
    ['an unclosed placeholder', 'true && {{resource', 9],
    ['an empty placeholder', '{{}}', 1],
    ['a placeholder that is no path', '{{a b}}', 1],
    ['a placeholder in a placeholder', '{{ {{resource}} }}', 1],
    ['an unknown root', 'true || {{user.name}}', 9],
    ['an unknown name', 'true || process', 9],
    ['an unknown name that is searched', "true || process.indexOf('a')", 9],
    ['a placeholder with a sign in a key', '{{doc.a$b}}', 1],
    ['a placeholder with a blank in a key', '{{doc.a b}}', 1],
    ['two expressions', 'true true', 6],
    ['a semicolon', 'true; true', 5],
    ['a closing semicolon', 'true;', 5],
    ['a comma', 'true, true', 5],
    ['a comma in parentheses', '(true, true)', 6],
    ['empty parentheses', '()', 2],
    ['an unclosed parenthesis', '(true', 6],
    ['an array without a comma', '[1 2]', 4],
    ['an array with a hole', '[1,,2]', 4],
    ['an unclosed array', '[1, 2', 6],
    ['a number too large', '1e999', 1],
    ['an octal number', '017', 1],
    ['a name that starts with a number', '1a', 2],
    ['an escape that is not known', String.raw`true || '\u0041'`, 9],
    ['a lone surrogate', "'a\ud800'", 3],
  ])('%s', (_name, source, column) => {
    expect(refusal(source)).toEqual({ column, message: expect.any(String) })
  })
})

describe('JavaScript outside the language is refused', () => {
  test.each<[string, string, number]>([
    ['a call', 'fetch("x")', 1],
    ['a call of a root', '{{resource}}()', 1],
    ['a call of another method', "{{resource}}.replace('a')", 1],
    ['constructor of a string', "''.constructor.constructor('return 1')()", 1],
    ['constructor called', '{{account}}.constructor("x")', 1],
    ['a method of a prototype', '[].map(true)', 1],
    ['a method without a call', "'a'.length", 1],
    ['two arguments', "{{resource}}.indexOf('a', 1)", 1],
    ['no argument', '{{resource}}.indexOf()', 1],
    ['a computed member', "{{account}}['constructor']", 1],
    ['a computed method', "{{resource}}['indexOf']('a')", 1],
    ['an optional member', '{{account}}?.name', 1],
    ['an optional method', "{{resource}}?.indexOf('a')", 1],
    ['an optional call', "{{resource}}.indexOf?.('a')", 1],
    ['__proto__', '{{account.__proto__}}', 1],
    ['__proto__ of a bare path', 'true && account.__proto__.x', 9],
    ['a key that starts with $', '{{doc.$where}}', 1],
    ['a key that is a number', '{{doc.tags.0}}', 1],
    ['an empty key', '{{doc..x}}', 1],
    ['this', 'this', 1],
    ['a regular expression', '/a/.test({{resource}})', 1],
    ['a template literal', '`resource`', 1],
    ['an assignment', 'resource = 1', 10],
    ['an object', '{a: 1}', 1],
    ['an arrow function', '() => 1', 2],
    ['new', 'new Date', 5],
    ['typeof', 'typeof resource', 8],
    ['a conditional', 'true ? 1 : 2', 6],
    ['addition', '1 + 1', 3],
    ['unary plus', '+1', 1],
    ['bitwise not', '~1', 1],
    ['minus before a path', 'true || -{{account._id}}', 9],
    ['??', 'null ?? 1', 6],
    ['a shift', '1 << 2', 4],
    ['spread', '[...resource]', 3],
    ['a comment', 'true /* x */', 6],
    ['undefined', 'undefined', 1],
  ])('%s', (_name, source, column) => {
    expect(refusal(source)).toEqual({ column, message: expect.any(String) })
  })
})

describe('size is bounded', () => {
  const nested = (depth: number) => `${'('.repeat(depth)}1${')'.repeat(depth)}`

  test.each<[string, string, boolean]>([
    ['2,000 characters', `'${'a'.repeat(1_998)}'`, true],
    ['2,001 characters', `'${'a'.repeat(1_999)}'`, false],
    ['5,000 characters', 'a'.repeat(5_000), false],
    ['31 parentheses', nested(31), true],
    ['32 parentheses', nested(32), false],
    ['990 parentheses', nested(990), false],
    ['1,999 negations', `${'!'.repeat(1_999)}1`, false],
    ['33 comparisons of comparisons', `1${' == 1'.repeat(33)}`, false],
    ['a long chain of &&', `1${'&&1'.repeat(499 - 1)}`, true],
    ['a chain of &&, one more part than allowed', `1${'&&1'.repeat(499)}`, false],
    ['256 items', `[${Array(256).fill(1)}]`, true],
    ['257 items', `[${Array(257).fill(1)}]`, false],
    ['31 chained calls', `{{resource}}${".includes('a')".repeat(31)}`, true],
    ['32 chained calls', `{{resource}}${".includes('a')".repeat(32)}`, false],
    ['40 chained calls', `{{resource}}${".includes('a')".repeat(40)}`, false],
    ['32 keys', `{{doc${'.a'.repeat(32)}}}`, true],
    ['33 keys', `{{doc${'.a'.repeat(33)}}}`, false],
  ])('%s', (_name, source, allowed) => {
    expect(refusal(source) === undefined).toBe(allowed)
  })
})

describe('a refusal', () => {
  test.each<[string, string]>([
    ["{{resource}}.replace('a')", 'Only .indexOf(), .includes(), .startsWith() can be called'],
    ["'a'.length", 'Only paths have members'],
    ['user.name', 'A path starts with resource, account, doc; "user" is none of them'],
    ['1 + 1', 'Unexpected "+"'],
  ])('of %s says what is wrong', (source, message) => {
    expect(refusal(source)?.message).toBe(message)
  })

  test('of what is too deep is where that depth is reached', () => {
    expect(refusal(`1${' == 1'.repeat(33)}`)).toEqual({ column: 3, message: 'Nested more than 32 deep' })
  })

  test('of what is too long is at its first character too many', () => {
    expect(refusal(`'${'a'.repeat(1_999)}'`)?.column).toBe(2_001)
  })
})

test('an escaped backslash is one, whatever stands behind it', () => {
  expect(parse(String.raw`'\\u0041\\x'`)).toEqual({
    expression: { kind: 'literal', value: String.raw`\u0041\x` },
  })
})

test('the newest 1,000 sources are cached parsed, refusals too', () => {
  const [cached, refused] = [parse('0 == 1000'), parse('0 ==')]
  for (let n = 0; n < 998; n++) parse(`0 == ${n}`)
  expect(parse('0 == 1000')).toBe(cached)
  expect(parse('0 ==')).toBe(refused)
  for (let n = 0; n < 999; n++) parse(`1 == ${n}`)
  expect(parse('0 ==')).toBe(refused)
  for (let n = 0; n < 1_000; n++) parse(`2 == ${n}`)
  expect(parse('0 ==')).not.toBe(refused)
})

describe('jsep', () => {
  test('keeps its own operators, and what others add to it does not reach the language', () => {
    jsep.addBinaryOp('in', 1)
    jsep.addBinaryOp('plus', 1)
    jsep.addLiteral('seven', 7)
    try {
      expect(refusal("{{resource}} in ['plus'] && !({{resource}} == 'a')")).toBeUndefined()
      expect(refusal('1 plus 2')).toMatchObject({ column: 3 })
    } finally {
      jsep.removeBinaryOp('in')
      jsep.removeBinaryOp('plus')
      jsep.removeLiteral('seven')
    }
    expect(refusal("{{resource}} in ['others']")).toBeUndefined()
    expect(jsep.binary_ops).not.toHaveProperty('in')
  })
})
