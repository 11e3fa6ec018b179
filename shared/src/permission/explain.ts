import {
  type Access,
  combine,
  foldPart,
  type PermissionEntry,
  type Question,
  schemaApplies,
} from './decide.ts'
import { parsePart } from './entry.ts'
import { evaluate } from './evaluate.ts'
import type { Expression } from './expression.ts'
import { workspaceOf } from './values.ts'

export type PartExplanation = {
  /** As stored; null where there is none. */
  readonly expression: unknown
  readonly reason: string
  /** Where it doesn't parse: 1-based. */
  readonly column?: number
}

/** `some`: the documents that a comparison over `doc` selects; with a document, that it selects this one. */
export type AccessExplanation = PartExplanation & { readonly grants: 'none' | 'some' | 'all' }

export type EntryExplanation = {
  /** 1-based, in the role's order. */
  readonly entry: number
  readonly schema: PartExplanation & { readonly applies: boolean }
  readonly read: AccessExplanation
  readonly write: AccessExplanation
}

export type Explanation = { readonly result: string; readonly entries: EntryExplanation[] }

const MAX_SHOWN = 80

/**
 * Says what each entry comes to for this caller, and in one sentence what follows for the resource, or for
 * the document when there is one.
 */
export function explain({ doc, ...question }: Question & { doc?: object }): Explanation {
  const entries = question.permissions.map((entry, at) => explainEntry(entry, { ...question, doc, at }))
  const [read, write] = (['read', 'write'] as const).map((access) =>
    conclude(access, entries, { ...question, doc }),
  )
  return { result: `The caller ${read}, and ${write}.`, entries }
}

type Case = Omit<Question, 'permissions'> & { readonly doc: object | undefined }

function explainEntry(entry: PermissionEntry, { at, ...scope }: Case & { at: number }): EntryExplanation {
  const applies = schemaApplies(entry.schema, scope)
  return {
    entry: at + 1,
    schema: { ...explainPart(entry.schema, scope), applies },
    read: explainAccess(entry.read, scope),
    write: explainAccess(entry.write, scope),
  }
}

function explainAccess(part: unknown, scope: Case): AccessExplanation {
  const decision = combine([foldPart(part, scope)], workspaceOf(scope.account))
  const misses = decision.kind === 'some' && scope.doc !== undefined && !decision.test(scope.doc)
  return { ...explainPart(part, scope), grants: misses ? 'none' : decision.kind }
}

function explainPart(part: unknown, scope: Case): PartExplanation {
  const parsed = parsePart(part)
  const expression = part ?? null
  if ('error' in parsed) {
    const { column, message } = parsed.error
    return { expression, reason: `Doesn't parse, column ${column}: ${message}`, column }
  }
  return { expression, reason: reasonOf(part, foldPart(part, scope), scope) }
}

function reasonOf(part: unknown, folded: Expression, { doc, account, resource }: Case): string {
  if (part === undefined || part === null) return 'Missing'
  if (typeof part !== 'string' && typeof part !== 'boolean') return 'Neither a string nor a boolean'
  if (typeof part === 'string' && part.trim() === '') return 'Empty'
  if (folded.kind === 'literal') return `Came to ${shown(folded.value)}`
  if (doc === undefined) return 'Depends on the document'
  const value = evaluate(folded, { resource, account, doc })
  return `Came to ${shown(value)} for this document`
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing (a path that leads nowhere)'
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return 'an object'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function conclude(access: Access, entries: readonly EntryExplanation[], { resource, doc }: Case): string {
  const applying = entries.filter(({ schema }) => schema.applies)
  if (applying.length === 0) return `may not ${access} ${resource}, because no entry applies`
  const granting = applying.filter((entry) => entry[access].grants !== 'none')
  if (granting.length === 0)
    return `may not ${access} ${resource}, because no entry that applies grants it (${numbers(applying)})`
  const what = granting.some((entry) => entry[access].grants === 'all') ? 'all' : 'some'
  return `may ${access} ${doc ? 'this one' : what} of ${resource} (${numbers(granting)})`
}

function numbers(entries: readonly EntryExplanation[]): string {
  return `${entries.length > 1 ? 'entries' : 'entry'} ${entries.map(({ entry }) => entry).join(', ')}`
}
