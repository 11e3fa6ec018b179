import { LRUCache } from 'lru-cache'
import { isSecretKey } from '../secret-names.ts'
import {
  type Expression,
  ExpressionError,
  literal,
  type Method,
  type Operator,
  type Root,
} from './expression.ts'
import { readSyntax, type Syntax, type SyntaxNode } from './syntax.ts'

export type ParsedExpression =
  | { readonly expression: Expression }
  | { readonly error: { readonly column: number; readonly message: string } }

/** How long an expression may be, in UTF-16 code units. */
export const MAX_LENGTH = 2_000
const MAX_DEPTH = 32
const MAX_NODES = 500
const MAX_ITEMS = 256
const MAX_KEYS = 32
const ROOTS: readonly string[] = ['resource', 'account', 'doc']
const METHODS: readonly string[] = ['indexOf', 'includes', 'startsWith']
/** Fields that identity stores in addition to a user and shows to nobody. */
const PASSWORD_FIELDS = ['passwordHash', 'salt', 'pepper']
const KEY = /^[\p{L}_][\p{L}\p{N}_-]*$/u

const parsed = new LRUCache<string, ParsedExpression>({ max: 1_000 })

/**
 * Parses one expression of at most 2,000 characters, 32 levels, 500 nodes and 256 items in an array. The
 * outcome, refusals included, is cached (newest 1,000). A placeholder inside a string literal is text.
 */
export function parse(source: string): ParsedExpression {
  if (source.length > MAX_LENGTH) return refusal(`Longer than ${MAX_LENGTH} characters`, MAX_LENGTH + 1)
  const known = parsed.get(source)
  if (known) return known
  const outcome = attempt(source)
  parsed.set(source, outcome)
  return outcome
}

function attempt(source: string): ParsedExpression {
  if (!source.isWellFormed())
    return refusal('Half a character (a lone surrogate)', source.search(/\p{Cs}/u) + 1)
  try {
    const syntax = readSyntax(source)
    return { expression: convert(syntax.node, { syntax, nodes: { count: 0 }, depth: 0, start: 0 }) }
  } catch (error) {
    if (error instanceof ExpressionError) return refusal(error.message, error.column)
    throw error
  }
}

const refusal = (message: string, column: number): ParsedExpression => ({ error: { column, message } })

/** `start` is the place reported for nodes that have none of their own. */
type Place = { syntax: Syntax; nodes: { count: number }; depth: number; start: number }

function convert(node: SyntaxNode, outer: Place): Expression {
  const place = { ...outer, depth: outer.depth + 1, start: outer.syntax.startOf(node) ?? outer.start }
  if (place.depth > MAX_DEPTH) refuse(`Nested more than ${MAX_DEPTH} deep`, place)
  if (++place.nodes.count > MAX_NODES) refuse(`More than ${MAX_NODES} parts`, place)
  switch (node.type) {
    case 'Literal':
      return literal(literalValue(node, place))
    case 'Placeholder':
    case 'Identifier':
    case 'MemberExpression':
      return path(node, place)
    case 'ArrayExpression':
      return array(node.elements as SyntaxNode[], place)
    case 'UnaryExpression':
      return unary(node, place)
    case 'BinaryExpression':
      return binary(node, place)
    case 'CallExpression':
      return call(node, place)
    default:
      return refuse(`${node.type} is not part of the language`, place)
  }
}

function refuse(message: string, place: Place): never {
  throw new ExpressionError(message, place.start + 1)
}

function literalValue({ value, raw }: SyntaxNode, place: Place): string | number | boolean | null {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || /^0\d/.test(String(raw))) refuse('Not a number of this language', place)
    return value
  }
  if (typeof value !== 'string') return refuse('Not a literal of this language', place)
  if (/\\[ux\d\r\n]/.test(String(raw).replaceAll('\\\\', ''))) {
    refuse('Only the escapes \\n \\r \\t \\b \\f \\v and escaped punctuation are known', place)
  }
  return value
}

function path(node: SyntaxNode, place: Place): Expression {
  const [root, ...keys] = pathNames(node, place)
  if (root === undefined || !ROOTS.includes(root)) {
    return refuse(`A path starts with ${ROOTS.join(', ')}; ${JSON.stringify(root)} is none of them`, place)
  }
  if (keys.length > MAX_KEYS) refuse(`A path of more than ${MAX_KEYS} keys`, place)
  for (const key of keys) {
    if (!KEY.test(key) || key === '__proto__')
      refuse(`${JSON.stringify(key)} can't be a key of a path`, place)
    if (root === 'doc' && (isSecretKey(key) || PASSWORD_FIELDS.includes(key)))
      refuse(`${key} is secret: rules see the public view of a document`, place)
  }
  return { kind: 'path', root: root as Root, keys, column: place.start + 1 }
}

function pathNames(node: SyntaxNode, place: Place): string[] {
  const names: string[] = []
  let part = node
  while (part.type === 'MemberExpression') {
    if (part.computed || part.optional) refuse('Members are named with a dot: a.b', place)
    names.unshift(String((part.property as SyntaxNode).name))
    part = part.object as SyntaxNode
  }
  if (part.type === 'Placeholder') return [...String(part.path).split('.'), ...names]
  if (part.type === 'Identifier') return [String(part.name), ...names]
  return refuse('Only paths have members', place)
}

function array(elements: readonly SyntaxNode[], place: Place): Expression {
  if (elements.length > MAX_ITEMS) refuse(`An array of more than ${MAX_ITEMS} items`, place)
  return { kind: 'array', items: elements.map((element) => convert(element, place)) }
}

function unary(node: SyntaxNode, place: Place): Expression {
  const item = convert(node.argument as SyntaxNode, place)
  if (node.operator === '!') return { kind: 'not', item }
  if (node.operator === '-' && item.kind === 'literal' && typeof item.value === 'number') {
    return literal(-item.value)
  }
  return refuse(`${node.operator} stands only before a number, and only as -`, place)
}

function binary(node: SyntaxNode, place: Place): Expression {
  const operator = String(node.operator)
  if (operator === '&&' || operator === '||') {
    const kind = operator === '&&' ? 'and' : 'or'
    return { kind, items: chain(node).map((item) => convert(item, place)) }
  }
  const left = convert(node.left as SyntaxNode, place)
  const right = convert(node.right as SyntaxNode, place)
  if (operator === 'in') return { kind: 'call', method: 'in', target: right, argument: left }
  if (operator.startsWith('!')) return { kind: 'not', item: { kind: 'compare', operator: '==', left, right } }
  return { kind: 'compare', operator: operator === '===' ? '==' : (operator as Operator), left, right }
}

/** `a && b && c` as one list, so that a long chain is not a deep tree. */
function chain(node: SyntaxNode): SyntaxNode[] {
  const items: SyntaxNode[] = []
  let rest = node
  while (rest.type === 'BinaryExpression' && rest.operator === node.operator) {
    items.unshift(rest.right as SyntaxNode)
    rest = rest.left as SyntaxNode
  }
  return [rest, ...items]
}

function call(node: SyntaxNode, place: Place): Expression {
  const callee = node.callee as SyntaxNode
  const method = callee.type === 'MemberExpression' ? String((callee.property as SyntaxNode).name) : ''
  if (!METHODS.includes(method) || callee.computed || callee.optional || node.optional) {
    refuse(`Only ${METHODS.map((name) => `.${name}()`).join(', ')} can be called`, place)
  }
  const [argument, ...further] = node.arguments as SyntaxNode[]
  if (argument === undefined || further.length > 0) return refuse(`${method} takes one argument`, place)
  return {
    kind: 'call',
    method: method as Method,
    target: convert(callee.object as SyntaxNode, place),
    argument: convert(argument, place),
  }
}
