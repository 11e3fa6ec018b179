import { anyOf, compile, type Filter } from './compile.ts'
import { parsePart } from './entry.ts'
import { evaluate } from './evaluate.ts'
import { type Expression, literal } from './expression.ts'
import { fold } from './fold.ts'
import { grants, workspaceOf } from './values.ts'

export type Access = 'read' | 'write'

/**
 * One permission entry as it is stored. By contract the three are strings; `true` and `false` are taken as
 * well, and anything else (left out, null, a number) denies.
 */
export type PermissionEntry = {
  readonly schema?: unknown
  readonly read?: unknown
  readonly write?: unknown
}

/**
 * What a role lets its caller do with a resource. `filter` is a MongoDB filter and `test` its twin for a
 * plain object (as read from the database): both select the same documents.
 */
export type Decision =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly filter: Filter; readonly test: (doc: object) => boolean }

export type Question = {
  readonly permissions: readonly PermissionEntry[]
  /** The collection's name in the path, for example `channels`. */
  readonly resource: string
  /** From the verified token: `_id`, `username`, `workspace` {`_id`, …}, `role`, … */
  readonly account: object
}

/**
 * Decides which documents of a resource a caller may read or write: the union of what the entries that apply
 * grant. An entry applies when its `schema` comes to `true`; it grants everything when `read` (`write`) comes
 * to `true`, the id of the caller's workspace or an array that holds it, the documents for which it does so
 * when it looks at `doc`, and nothing otherwise, also when it doesn't parse.
 *
 * The tenant boundary is not decided here: `all` means all of the caller's workspace, and every query must be
 * AND-ed with the caller's workspace by whoever makes it, whatever the decision.
 */
export function decide({ permissions, resource, account, access }: Question & { access: Access }): Decision {
  const scope = { resource, account }
  const applying = permissions.filter((entry) => schemaApplies(entry.schema, scope))
  const grantings = applying.map((entry) => foldPart(entry[access], scope))
  return combine(grantings, workspaceOf(account))
}

type Caller = Pick<Question, 'resource' | 'account'>

/** Whether the schema comes to `true`. */
export function schemaApplies(schema: unknown, scope: Caller): boolean {
  const value = foldPart(schema, scope)
  return value.kind === 'literal' && value.value === true
}

/** What is left of a part when resource and account are known; what doesn't parse denies. */
export function foldPart(part: unknown, scope: Caller): Expression {
  const parsed = parsePart(part)
  return 'error' in parsed ? literal(false) : fold(parsed.expression, scope)
}

/** The decision of folded expressions that each grant on their own. */
export function combine(grantings: readonly Expression[], workspace: number | undefined): Decision {
  const open: Expression[] = []
  for (const granting of grantings) {
    if (granting.kind !== 'literal') open.push(granting)
    else if (grants(granting.value, workspace)) return { kind: 'all' }
  }
  if (open.length === 0) return { kind: 'none' }
  return {
    kind: 'some',
    filter: anyOf(open.map((granting) => compile(granting, workspace))),
    test: (doc) => open.some((granting) => grants(evaluate(granting, { ...FOLDED, doc }), workspace)),
  }
}

/** A folded expression looks at nothing but the document. */
const FOLDED = { resource: '', account: {} }
