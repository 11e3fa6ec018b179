/** Where a text stops being JSON: line and column, both from 1, and what would be taken there. */
interface JsonError {
  line: number
  column: number
  expected: string
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const BLANKS = /[ \t\n\r]*/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BLANK = 0x20

/** Thrown where the text is no JSON. */
class Unexpected extends Error {
  readonly at: number

  constructor(expected: string, at: number) {
    super(expected)
    this.at = at
  }
}

/**
 * Finds the first place where a text is no JSON; undefined for JSON. It recurses as deep as the text nests, so that has
 * to be bounded before.
 */
export function findJsonError(text: string): JsonError | undefined {
  try {
    readJson(text)
    return undefined
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    const lines = text.slice(0, error.at).split('\n')
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, expected: error.message }
  }
}

function readJson(text: string): void {
  let at = 0
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    if (!pattern.test(text)) return false
    at = pattern.lastIndex
    return true
  }
  const takeCharacter = (character: string): boolean => {
    take(BLANKS)
    if (text[at] !== character) return false
    at++
    return true
  }
  const expectCharacter = (character: string, expected: string) => {
    if (!takeCharacter(character)) throw new Unexpected(expected, at)
  }
  const string = (expected: string) => {
    expectCharacter('"', expected)
    // By characters, because a pattern for a whole string may run out of stack.
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      if (at >= text.length) throw new Unexpected('the end of the string', at)
      if (code < BLANK) throw new Unexpected('no control character in a string', at)
      if (code !== BACKSLASH) at++
      else if (!take(ESCAPE)) throw new Unexpected('an escape such as \\n or \\u00e9', at)
    }
    at++
  }
  const list = (close: string, item: () => void) => {
    if (takeCharacter(close)) return
    do item()
    while (takeCharacter(','))
    expectCharacter(close, `a comma or ${close}`)
  }
  const member = () => {
    string('a key in double quotes')
    expectCharacter(':', 'a colon')
    value()
  }
  const value = () => {
    if (takeCharacter('{')) list('}', member)
    else if (takeCharacter('[')) list(']', value)
    else if (text[at] === '"') string('a string')
    else if (!take(NUMBER) && !take(WORD)) throw new Unexpected('a value', at)
  }
  value()
  take(BLANKS)
  if (at < text.length) throw new Unexpected('the end of the body', at)
}
