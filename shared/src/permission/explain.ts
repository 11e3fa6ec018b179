import {
  type Access,
  combine,
  type FoldedEntry,
  type FoldedPart,
  foldEntries,
  type Question,
} from './decide.ts'
import { type PermissionEntry, parsePart } from './entry.ts'
import { evaluate } from './evaluate.ts'
import { workspaceOf } from './values.ts'
import { fits, operandLimits } from './work.ts'

type PartExplanation = {
  /** As stored; null where there is none. */
  readonly expression: unknown
  readonly reason: string
  /** Where it doesn't parse: 1-based. */
  readonly column?: number
}

/** `some`: the documents that a comparison over `doc` selects; with a document, that it selects this one. */
type AccessExplanation = PartExplanation & { readonly grants: 'none' | 'some' | 'all' }

type EntryExplanation = {
  /** 1-based, in the role's order. */
  readonly entry: number
  readonly schema: PartExplanation & { readonly applies: boolean }
  readonly read: AccessExplanation
  readonly write: AccessExplanation
}

/** The effect of a role, in a sentence and by its entries. */
export type Explanation = { readonly result: string; readonly entries: EntryExplanation[] }

const MAX_SHOWN = 80

/**
 * Says what each entry comes to for this caller, and in one sentence what follows for the resource, or for
 * the document when there is one.
 */
export function explain({ doc, ...question }: Question & { doc?: object }): Explanation {
  const [reading, writing] = [foldEntries(question, 'read'), foldEntries(question, 'write')]
  const entries = question.permissions.flatMap((entry, at) => {
    const folded = { read: reading[at], write: writing[at] }
    return isWhole(folded) ? [explainEntry(entry, { ...question, doc, at, folded })] : []
  })
  const [read, write] = (['read', 'write'] as const).map((access) =>
    conclude(access, entries, { ...question, doc }),
  )
  return { result: `The caller ${read}, and ${write}.`, entries }
}

type Case = Omit<Question, 'permissions'> & { readonly doc: object | undefined }
type Folded = Record<Access, FoldedEntry>

const isWhole = (folded: Record<Access, FoldedEntry | undefined>): folded is Folded =>
  folded.read !== undefined && folded.write !== undefined

function explainEntry(
  entry: PermissionEntry,
  { at, folded, ...scope }: Case & { at: number; folded: Folded },
): EntryExplanation {
  const { schema, applies } = folded.read
  return {
    entry: at + 1,
    schema: { ...explainPart(entry.schema, schema, scope), applies },
    read: explainAccess(entry.read, folded.read.granting, scope),
    write: explainAccess(entry.write, folded.write.granting, scope),
  }
}

function explainAccess(part: unknown, folded: FoldedPart, scope: Case): AccessExplanation {
  const decision = combine([folded.expression], workspaceOf(scope.account))
  const misses = decision.kind === 'some' && scope.doc !== undefined && !decision.test(scope.doc)
  return { ...explainPart(part, folded, scope), grants: misses ? 'none' : decision.kind }
}

function explainPart(part: unknown, folded: FoldedPart, scope: Case): PartExplanation {
  const parsed = parsePart(part)
  const expression = part ?? null
  if ('error' in parsed)
    return { expression, reason: folded.failure ?? parsed.error.message, column: parsed.error.column }
  return { expression, reason: folded.failure ?? reasonOf(part, folded, scope) }
}

function reasonOf(part: unknown, { expression }: FoldedPart, { doc, account, resource }: Case): string {
  if (part === undefined || part === null) return 'Missing'
  if (typeof part !== 'string' && typeof part !== 'boolean') return 'Neither a string nor a boolean'
  if (typeof part === 'string' && part.trim() === '') return 'Empty'
  if (expression.kind === 'literal') return `Came to ${shown(expression.value)}`
  if (doc === undefined) return 'Depends on the document'
  const tooLong = operandLimits(expression).find((limit) => !fits(limit, doc))
  if (tooLong !== undefined) return `doc.${tooLong.keys.join('.')} is too long to be searched`
  return `Came to ${shown(evaluate(expression, { resource, account, doc }))} for this document`
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
  const all = entries.map(({ entry }) => entry).join(', ')
  return entries.length > 1 ? `entries ${all}` : `entry ${all}`
}
