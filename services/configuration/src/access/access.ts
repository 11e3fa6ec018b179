import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { escapeKey } from '@parley/shared/safe-keys'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'

/** The decisions about what a caller may read and write of one resource. */
export interface WriteAccess {
  read: Decision
  write: Decision
}

/** Throws `forbidden` where the role denies writing the whole resource. */
export async function writeAccess(
  authorizer: Authorizer,
  caller: Caller,
  resource: string,
): Promise<WriteAccess> {
  const write = await authorizer.require(caller, resource, 'write')
  return { read: await authorizer.decide(caller, resource, 'read'), write }
}

/** The document, when it is there for this caller; throws `not_found` otherwise. */
export function requireReadable(read: Decision, current: LiveDocument | undefined): LiveDocument {
  if (current === undefined || !allows(read, current.doc)) throw new Problem('not_found')
  return current
}

/** Throws unless the caller may write the document: `not_found` where it may not even see it. */
export function requireWritable(access: WriteAccess, current: LiveDocument): void {
  requireReadable(access.read, current)
  if (!allows(access.write, current.doc)) throw new Problem('forbidden')
}

/** A write must not produce what the caller may not write. */
export function requireMayBecome(access: WriteAccess, doc: ResourceDocument): void {
  if (!allows(access.write, doc)) {
    throw new Problem('forbidden', { detail: 'The role does not allow this content.' })
  }
}

type Filter = Record<string, unknown>

const COMBINING = ['$and', '$or', '$nor']

/** The database's condition for what a decision lets through; documents lie under `doc` there, their keys escaped. */
export function documentFilter(decision: Decision): Filter {
  if (decision.kind === 'all') return {}
  return decision.kind === 'none' ? { $nor: [{}] } : filterOnDocument(decision.filter)
}

const storedPath = (path: string): string => `doc.${path.split('.').map(escapeKey).join('.')}`

/** The same condition with every path taken from `doc`. */
function filterOnDocument(filter: Filter): Filter {
  return Object.fromEntries(
    Object.entries(filter).map(([key, test]) => {
      if (COMBINING.includes(key)) return [key, (test as Filter[]).map(filterOnDocument)]
      return key === '$expr' ? [key, expressionOnDocument(test)] : [storedPath(key), test]
    }),
  )
}

/** In an aggregation expression a path is a string that begins with `$`; `$$` names a variable. */
function expressionOnDocument(expression: unknown): unknown {
  if (typeof expression === 'string') {
    return /^\$[^$]/.test(expression) ? `$${storedPath(expression.slice(1))}` : expression
  }
  if (Array.isArray(expression)) return expression.map(expressionOnDocument)
  if (typeof expression !== 'object' || expression === null) return expression
  if ('$literal' in expression) return expression
  return Object.fromEntries(
    Object.entries(expression).map(([key, inner]) => [key, expressionOnDocument(inner)]),
  )
}
