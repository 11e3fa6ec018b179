import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser'
import { t } from '../language.ts'

/** Problems at the end of JSON in words, by the parser's name for them. */
const PROBLEMS: Readonly<Record<string, string>> = {
  CommaExpected: t('a comma is missing'),
  ColonExpected: t('a colon is missing'),
  PropertyNameExpected: t('a name in double quotes is missing'),
  ValueExpected: t('a value is missing'),
  CloseBraceExpected: t('a closing brace is missing'),
  CloseBracketExpected: t('a closing bracket is missing'),
  UnexpectedEndOfString: t('the text that begins here has no closing quote'),
  InvalidSymbol: t('a text has to be in double quotes'),
  InvalidCommentToken: t('comments are not allowed'),
  InvalidEscapeCharacter: t('this text has an escape that JSON does not have'),
  InvalidUnicode: t('this text has an escape that JSON does not have'),
  InvalidCharacter: t('this text has a character that has to be escaped'),
  UnexpectedEndOfNumber: t('a digit is missing'),
  EndOfFileExpected: t('nothing may follow here'),
}

/** Returns the problem of a text that is no JSON, and its position; undefined where the text is JSON. */
export function syntaxProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch {
    // Browsers word what is wrong each in its own way, in English.
  }
  const errors: ParseError[] = []
  parse(text, errors, { disallowComments: true, allowTrailingComma: false })
  const [{ error, offset } = { error: 0, offset: 0 }] = errors
  const before = text.slice(0, offset).split('\n')
  return t('Line {line}, column {column}: {problem}.', {
    ...{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
    problem: PROBLEMS[printParseErrorCode(error)] ?? t('this is no JSON'),
  })
}
