import jsep from 'jsep'
import { ExpressionError } from './expression.ts'

/** A node of jsep's tree, or a `Placeholder` of ours, whose `path` is the text between the braces. */
export type SyntaxNode = { readonly type: string; readonly [key: string]: unknown }

/** A node and where each of its tokens starts (0-based offsets into the source). */
export type Syntax = { readonly node: SyntaxNode; readonly startOf: (node: object) => number | undefined }

/** The part of jsep's class that is used; its own typings leave the class out. */
interface JsepParser {
  index: number
  readonly expr: string
  readonly char: string
  gobbleSpaces(): void
  gobbleToken(): SyntaxNode | false
  gobbleTokenProperty(node: SyntaxNode): SyntaxNode
  throwError(message: string): never
}

const { Jsep } = jsep as unknown as { Jsep: new (source: string) => JsepParser }

const MAX_NESTING = 32
const PLACEHOLDER = /\{\{([^{}]*)\}\}/y
const OPERATOR = /===|!==|==|!=|<=|>=|<|>|&&|\|\||in(?![\p{L}\p{N}_$])/uy
const PRECEDENCE = new Map([
  ['||', 1],
  ['&&', 2],
  ...['==', '!=', '===', '!=='].map((text) => [text, 3] as const),
  ...['<', '>', '<=', '>=', 'in'].map((text) => [text, 4] as const),
])

/**
 * jsep's tokens, literals and member chains under a grammar of our own. jsep keeps its operators and hooks
 * in one place for the whole process; overriding the methods that read them leaves that place untouched and
 * takes nothing from it. Where jsep is lenient (separators, commas left out) this is not.
 */
class ExpressionSyntax extends Jsep {
  readonly #starts = new WeakMap<object, number>()
  #nesting = 0

  read(): Syntax {
    const node = this.#expression('Expected an expression')
    if (this.index < this.expr.length) this.throwError(`Unexpected ${JSON.stringify(this.char)}`)
    return { node, startOf: (part) => this.#starts.get(part) }
  }

  override gobbleToken(): SyntaxNode | false {
    this.gobbleSpaces()
    if (++this.#nesting > MAX_NESTING) this.throwError(`Nested more than ${MAX_NESTING} deep`)
    const start = this.index
    const node = this.expr.startsWith('{{', start)
      ? this.gobbleTokenProperty(this.#placeholder())
      : super.gobbleToken()
    this.#nesting--
    if (node) this.#starts.set(node, start)
    return node
  }

  gobbleGroup(): SyntaxNode {
    this.index++
    const node = this.#expression('Expected an expression in the parentheses')
    if (this.char !== ')') this.throwError('Expected )')
    this.index++
    return node
  }

  /** The items up to `close` (a character code); the opening bracket has been read. */
  gobbleArguments(close: number): SyntaxNode[] {
    const bracket = String.fromCharCode(close)
    const items: SyntaxNode[] = []
    for (this.gobbleSpaces(); this.char !== bracket; this.gobbleSpaces()) {
      items.push(this.#expression(`Expected an expression or ${bracket}`))
      if (this.char === ',') this.index++
      else if (this.char !== bracket) this.throwError(`Expected , or ${bracket}`)
    }
    this.index++
    return items
  }

  /** Called by jsep for the inside of a computed member. */
  gobbleExpression(): SyntaxNode | false {
    const node = this.#binary(1)
    this.gobbleSpaces()
    return node
  }

  runHook(_name: string, node: unknown): unknown {
    return node
  }

  searchHook(): undefined {
    return undefined
  }

  #expression(expected: string): SyntaxNode {
    return this.gobbleExpression() || this.throwError(expected)
  }

  #binary(lowest: number): SyntaxNode | false {
    let left = this.gobbleToken()
    while (left) {
      const operator = this.#operator()
      if (operator === undefined || operator.precedence < lowest) return left
      this.index = operator.start + operator.text.length
      const right = this.#binary(operator.precedence + 1)
      if (!right) this.throwError(`Expected an expression after ${operator.text}`)
      left = { type: 'BinaryExpression', operator: operator.text, left, right }
      this.#starts.set(left, operator.start)
    }
    return left
  }

  #operator(): { text: string; start: number; precedence: number } | undefined {
    this.gobbleSpaces()
    OPERATOR.lastIndex = this.index
    const text = OPERATOR.exec(this.expr)?.[0] ?? ''
    const precedence = PRECEDENCE.get(text)
    return precedence === undefined ? undefined : { text, start: this.index, precedence }
  }

  #placeholder(): SyntaxNode {
    PLACEHOLDER.lastIndex = this.index
    const match = PLACEHOLDER.exec(this.expr)
    if (!match) this.throwError('A placeholder is {{path}}')
    this.index = PLACEHOLDER.lastIndex
    return { type: 'Placeholder', path: match[1]?.trim() }
  }
}

/**
 * Reads the source into a syntax tree; what in it is allowed is decided by `parse`.
 *
 * @throws ExpressionError where the text is no expression
 */
export function readSyntax(source: string): Syntax {
  try {
    return new ExpressionSyntax(source).read()
  } catch (error) {
    if (!(error instanceof Error && 'index' in error)) throw error
    const message = 'description' in error ? String(error.description) : error.message
    throw new ExpressionError(message, Number(error.index) + 1)
  }
}
