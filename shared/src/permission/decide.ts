import { limitFilter } from './aggregation.ts'
import { allOf, anyOf, compile, type Filter } from './compile.ts'
import { type PermissionEntry, parsePart } from './entry.ts'
import { evaluate } from './evaluate.ts'
import { type Expression, literal, partsOf } from './expression.ts'
import { type FoldScope, fold } from './fold.ts'
import { grants, workspaceOf } from './values.ts'
import {
  documentSteps,
  fits,
  type OperandLimit,
  operandLimits,
  utf8Bytes,
  Work,
  WorkExceeded,
} from './work.ts'

/** Bytes around the parts of an expression where it is computed, which takes more than a condition on a field. */
const OPERATOR_BYTES = {
  literal: 40,
  path: 120,
  array: 40,
  not: 130,
  and: 80,
  or: 80,
  compare: 360,
  call: 650,
} satisfies Record<Expression['kind'], number>
/** Bytes of an item of an array or of a chain besides its value. */
const ITEM_BYTES = 200
const LIMIT_BYTES = 420
/** Bytes of a condition on a field for each object that it lies in. */
const STEP_BYTES = 45
/** How often at most a filter names a path, and a text in which each character may be escaped. */
const TIMES = 3
const MAX_UTF8_BYTES = 3
const NUMBER_BYTES = 16

export type Access = 'read' | 'write'

/**
 * The access that a role gives its caller to a resource. `filter` is a MongoDB filter and `test` its twin for a
 * plain object (as read from the database): both select the same documents.
 */
export type Decision =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly filter: Filter; readonly test: (doc: object) => boolean }

/** True when a decision lets a document through. */
export const allows = (decision: Decision, document: object): boolean =>
  decision.kind === 'all' || (decision.kind === 'some' && decision.test(document))

export type Question = {
  readonly permissions: readonly PermissionEntry[]
  /** The collection's name in the path, for example `channels`. */
  readonly resource: string
  /** From the verified token: `_id`, `username`, `workspace` {`_id`, …}, `role`, … */
  readonly account: object
  /** The fields of the public view of the resource's documents; all when left out. */
  readonly fields?: ReadonlySet<string> | undefined
}

/**
 * Decides which documents of a resource a caller may read or write: the union of what the entries that apply
 * grant. An entry applies when its `schema` comes to `true`; it grants everything when `read` (`write`) comes
 * to `true`, the id of the caller's workspace or an array that holds it, the documents for which it does so
 * when it looks at `doc`, and nothing otherwise, also when it doesn't parse, takes more work than is left for the
 * decision, or meets a document with a string or array too long to be searched.
 *
 * The tenant boundary is not decided here: `all` means all of the caller's workspace, and every query must be
 * AND-ed with the caller's workspace by whoever makes it, whatever the decision.
 */
export function decide({ access, ...question }: Question & { access: Access }): Decision {
  const applying = foldEntries(question, access).filter(({ applies }) => applies)
  return combine(
    applying.map(({ granting }) => granting.expression),
    workspaceOf(question.account),
  )
}

/** The rest of a part when resource and account are known. A part with a failure denies. */
export type FoldedPart = { readonly expression: Expression; readonly failure?: string }

/** One entry for a caller and a resource: whether its schema comes to `true`, and what it grants. */
export type FoldedEntry = {
  readonly applies: boolean
  readonly schema: FoldedPart
  readonly granting: FoldedPart
}

/** Folds the entries of a role within the work of one decision; a part that does not fit into it has a failure. */
export function foldEntries(question: Question, access: Access): FoldedEntry[] {
  const scope = { ...question, work: new Work() }
  return question.permissions.map((entry) => {
    const schema = foldPart(entry.schema, scope, documentSteps)
    const applies = schema.expression.kind === 'literal' && schema.expression.value === true
    return {
      applies,
      schema,
      granting: foldPart(entry[access], scope, applies ? filteringSteps : documentSteps),
    }
  })
}

/** Also of making and sending the filter: a step for each of its bytes. */
const filteringSteps = (expression: Expression): number => documentSteps(expression) + filterBytes(expression)

function foldPart(
  part: unknown,
  scope: FoldScope & { work: Work },
  stepsOf: (expression: Expression) => number,
): FoldedPart {
  const parsed = parsePart(part)
  if ('error' in parsed) {
    const { column, message } = parsed.error
    return { expression: literal(false), failure: `Doesn't parse, column ${column}: ${message}` }
  }
  try {
    const expression = fold(parsed.expression, scope)
    scope.work.spend(stepsOf(expression))
    return { expression }
  } catch (error) {
    if (!(error instanceof WorkExceeded)) throw error
    return { expression: literal(false), failure: 'Takes more work than is left for one decision' }
  }
}

/** The decision of folded expressions that each grant on their own. */
export function combine(grantings: readonly Expression[], workspace: number | undefined): Decision {
  const open: Limited[] = []
  for (const granting of grantings) {
    if (granting.kind !== 'literal') open.push({ granting, limits: operandLimits(granting) })
    else if (grants(granting.value, workspace)) return { kind: 'all' }
  }
  if (open.length === 0) return { kind: 'none' }
  return {
    kind: 'some',
    filter: anyOf(
      open.map(({ granting, limits }) => allOf([compile(granting, workspace), ...limits.map(limitFilter)])),
    ),
    test: (doc) =>
      open.some(
        ({ granting, limits }) =>
          limits.every((limit) => fits(limit, doc)) &&
          grants(evaluate(granting, { ...FOLDED, doc }), workspace),
      ),
  }
}

type Limited = { readonly granting: Expression; readonly limits: readonly OperandLimit[] }

/** A folded expression looks at nothing but the document. */
const FOLDED = { resource: '', account: {} }

/** The bytes, at most, of the filter that a folded expression is compiled to, its limits included. */
export function filterBytes(expression: Expression): number {
  if (expression.kind === 'literal') return 0
  const limits = operandLimits(expression).map(({ keys }) => LIMIT_BYTES + TIMES * pathBytes(keys))
  return compiledBytes(expression) + limits.reduce((sum, bytes) => sum + bytes, 0)
}

function compiledBytes(expression: Expression): number {
  return partsOf(expression).reduce(
    (sum, part) => sum + compiledBytes(part),
    OPERATOR_BYTES[expression.kind] + ownBytes(expression),
  )
}

function ownBytes(expression: Expression): number {
  switch (expression.kind) {
    case 'literal':
      return (Array.isArray(expression.value) ? 1 : TIMES) * valueBytes(expression.value)
    case 'path':
      return TIMES * fieldBytes(expression.keys)
    case 'array':
    case 'and':
    case 'or':
      return ITEM_BYTES * expression.items.length
    default:
      return 0
  }
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return NUMBER_BYTES + utf8Bytes(value)
  if (!Array.isArray(value)) return NUMBER_BYTES
  return value.reduce<number>(
    (sum, item) => sum + valueBytes(Array.isArray(item) ? null : item),
    NUMBER_BYTES,
  )
}

/** Of the path and of each one that leads to it. */
const fieldBytes = (keys: readonly string[]): number =>
  keys.reduce((sum, _, at) => sum + STEP_BYTES + pathBytes(keys.slice(0, at + 1)), 0)

/** Below `doc`, and with each key escaped, which is how a service may store it. */
const pathBytes = (keys: readonly string[]): number =>
  keys.reduce((sum, key) => sum + 2 + MAX_UTF8_BYTES * key.length, NUMBER_BYTES)
