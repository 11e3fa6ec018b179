import { limitFilter } from './aggregation.ts'
import { allOf, anyOf, compile, type Filter } from './compile.ts'
import { type PermissionEntry, parsePart } from './entry.ts'
import { evaluate } from './evaluate.ts'
import { type Expression, literal } from './expression.ts'
import { filterBytes } from './filter-size.ts'
import { type FoldScope, fold } from './fold.ts'
import { grants, workspaceOf } from './values.ts'
import { documentSteps, fits, type OperandLimit, operandLimits, Work, WorkExceeded } from './work.ts'

export type Access = 'read' | 'write'

/**
 * What a role lets its caller do with a resource. `filter` is a MongoDB filter and `test` its twin for a
 * plain object (as read from the database): both select the same documents.
 */
export type Decision =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly filter: Filter; readonly test: (doc: object) => boolean }

/** Whether a decision lets a document through. */
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

/** What is left of a part when resource and account are known. A part with a failure denies. */
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
