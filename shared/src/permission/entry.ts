import { type Expression, literal, type Path, partsOf } from './expression.ts'
import { MAX_LENGTH, type ParsedExpression, parse } from './parse.ts'

/**
 * One permission entry as it is stored. By contract the three are strings; `true` and `false` are taken as
 * well, and anything else (left out, null, a number) denies.
 */
export type PermissionEntry = {
  readonly schema?: unknown
  readonly read?: unknown
  readonly write?: unknown
}

type EntryError = { readonly path: string; readonly column: number; readonly message: string }

/** The expression of one part of an entry. The empty string and what is no string deny. */
export function parsePart(part: unknown): ParsedExpression {
  if (typeof part === 'boolean') return { expression: literal(part) }
  if (typeof part !== 'string') return { expression: literal(false) }
  // Also of nothing but spaces there are only so many.
  if (part.length <= MAX_LENGTH && part.trim() === '') return { expression: literal(false) }
  return parse(part)
}

/**
 * Lists the errors that prevent an entry from being saved, one for each part at most: `path` is a JSON Pointer into the
 * entry, `column` 1-based. Empty when the entry is fine.
 */
export function validateEntry(entry: PermissionEntry): EntryError[] {
  return (['schema', 'read', 'write'] as const).flatMap((name) => {
    const problem = partProblem(entry[name], { mayReadDoc: name !== 'schema' })
    return problem ? [{ path: `/${name}`, ...problem }] : []
  })
}

function partProblem(part: unknown, { mayReadDoc }: { mayReadDoc: boolean }) {
  if (part === undefined || part === null) return undefined
  if (typeof part !== 'string' && typeof part !== 'boolean') {
    return { column: 1, message: 'Must be an expression in a string, true or false' }
  }
  const parsed = parsePart(part)
  if ('error' in parsed) return parsed.error
  const path = mayReadDoc ? undefined : findDocPath(parsed.expression)
  return path && { column: path.column, message: 'schema selects resources, so it has no doc' }
}

function findDocPath(expression: Expression): Path | undefined {
  if (expression.kind === 'path') return expression.root === 'doc' ? expression : undefined
  for (const part of partsOf(expression)) {
    const path = findDocPath(part)
    if (path) return path
  }
  return undefined
}

const WORKSPACE = '{{account.workspace._id}}'
const ORDINARY = "['users','roles','tokens','audit'].indexOf({{resource}}) < 0"

/** The roles that every workspace is made with; the first one is the new user's. */
export const DEFAULT_ROLES = [
  { name: 'WORKSPACE_ADMIN', permissions: [{ schema: 'true', read: WORKSPACE, write: WORKSPACE }] },
  { name: 'MEMBER', permissions: [{ schema: ORDINARY, read: WORKSPACE, write: WORKSPACE }] },
  { name: 'VIEWER', permissions: [{ schema: ORDINARY, read: WORKSPACE, write: '' }] },
  { name: 'PROVIDER', permissions: [{ schema: "{{resource}} == 'messages'", read: '', write: WORKSPACE }] },
] as const
