import type { Access, PermissionEntry } from './decide.ts'
import { parsePart } from './entry.ts'
import { type Expression, literal, type Path, partsOf } from './expression.ts'
import { type FoldScope, fold } from './fold.ts'
import { RULED_RESOURCES } from './ruled-resources.ts'
import { grants, workspaceOf } from './values.ts'
import { Work, WorkExceeded } from './work.ts'

/** Stands for every resource that has no name here. */
const ANY_OTHER = '(any other resource)'
/** What of an account is the same for everyone to whom an entry may be granted. */
const COMMON_ACCOUNT_KEYS = ['_id', 'workspace']
const ACCESSES: readonly Access[] = ['read', 'write']
/** What one comparison of roles may cost, in the steps of `Work`: twice what a decision may. */
const BUDGET = 1_200_000

interface Grantor {
  permissions: readonly PermissionEntry[]
  account: object
}

/**
 * Whether somebody who has these permissions may grant `granted`, as Kubernetes decides for RBAC: each entry equals
 * one that they have, or they have everything, without a condition, of each resource of which the entry grants
 * something. What an entry makes of the account that it is granted to is not known, so it counts as granting. What
 * takes more work to compare than the budget allows is not covered.
 */
export function covers(grantor: Grantor, granted: readonly PermissionEntry[]): boolean {
  try {
    return coversAll(grantor, granted, new Work(BUDGET))
  } catch (error) {
    if (error instanceof WorkExceeded) return false
    throw error
  }
}

function coversAll(grantor: Grantor, granted: readonly PermissionEntry[], work: Work): boolean {
  // An admin's entry says nothing of a resource, so that nothing has to be compared.
  const everywhere = hasAllOf({ ...grantor, permissions: grantor.permissions.filter(namesNoResource), work })
  const open = ACCESSES.filter((access) => !everywhere(ANY_OTHER, access))
  if (open.length === 0) return true
  const own = new Set(grantor.permissions.filter(isSameForEveryone).map(textOf))
  const has = hasAllOf({ ...grantor, work })
  const workspace = workspaceOf(grantor.account)
  return granted.every(
    (entry) =>
      own.has(textOf(entry)) ||
      resourcesNamedBy(entry).every((resource) =>
        grantedBy(entry, { resource, workspace, work }, open).every((access) => has(resource, access)),
      ),
  )
}

/** Whether these permissions give all of a resource to their account; remembers what it found. */
function hasAllOf({ permissions, account, work }: Grantor & { work: Work }) {
  const workspace = workspaceOf(account)
  const applying = remembering((resource) =>
    permissions.filter(({ schema }) => {
      const folded = foldPart(schema, { resource, account, work })
      return folded.kind === 'literal' && folded.value === true
    }),
  )
  const verdicts = {
    read: remembering((resource) => givesAll('read', resource)),
    write: remembering((resource) => givesAll('write', resource)),
  }
  const givesAll = (access: Access, resource: string) =>
    applying(resource).some((entry) => {
      const folded = foldPart(entry[access], { resource, account, work })
      return folded.kind === 'literal' && grants(folded.value, workspace)
    })
  return (resource: string, access: Access): boolean => verdicts[access](resource)
}

function remembering<T>(find: (resource: string) => T): (resource: string) => T {
  const found = new Map<string, T>()
  return (resource) => {
    const value = found.get(resource) ?? find(resource)
    found.set(resource, value)
    return value
  }
}

/** An entry as text; what denies is the same however it is written. */
function textOf({ schema, read, write }: PermissionEntry): string {
  const part = (value: unknown) => (typeof value === 'string' ? value.trim() : value === true ? 'true' : '')
  return JSON.stringify([part(schema), part(read), part(write)])
}

/** An entry that looks at more of the account than who it is may mean more for another account. */
const isSameForEveryone = (entry: PermissionEntry): boolean =>
  everyPath(entry, ({ root, keys }) => root !== 'account' || COMMON_ACCOUNT_KEYS.includes(keys[0] ?? ''))

/** Whether what an entry grants depends on the context of the account that has it. */
export const goesByContext = (entry: PermissionEntry): boolean =>
  !everyPath(entry, ({ root, keys }) => root !== 'account' || (keys.length > 0 && keys[0] !== 'context'))

const namesNoResource = (entry: PermissionEntry): boolean =>
  everyPath(entry, ({ root }) => root !== 'resource')

function everyPath({ schema, read, write }: PermissionEntry, test: (path: Path) => boolean): boolean {
  return [schema, read, write].every((part) => {
    const parsed = parsePart(part)
    return 'error' in parsed || everyPathIn(parsed.expression, test)
  })
}

function everyPathIn(expression: Expression, test: (path: Path) => boolean): boolean {
  return expression.kind === 'path'
    ? test(expression)
    : partsOf(expression).every((part) => everyPathIn(part, test))
}

/** Every known resource, every other one by one name, and whatever text the schema compares with. */
function resourcesNamedBy({ schema }: PermissionEntry): string[] {
  const parsed = parsePart(schema)
  return 'error' in parsed ? [] : [...new Set([...RULED_RESOURCES, ANY_OTHER, ...textsIn(parsed.expression)])]
}

function textsIn(expression: Expression): string[] {
  if (expression.kind === 'literal') return typeof expression.value === 'string' ? [expression.value] : []
  return partsOf(expression).flatMap(textsIn)
}

interface Granting {
  resource: string
  workspace: number | undefined
  work: Work
}

/** For which of these accesses an entry may give something of a resource to somebody. */
function grantedBy(
  entry: PermissionEntry,
  { resource, workspace, work }: Granting,
  accesses: readonly Access[],
): readonly Access[] {
  const scope = { resource, account: { workspace: { _id: workspace } }, isPartial: true, work }
  const schema = foldPart(entry.schema, scope)
  if (schema.kind === 'literal' && schema.value !== true) return []
  return accesses.filter((access) => {
    const granting = foldPart(entry[access], scope)
    return granting.kind !== 'literal' || grants(granting.value, workspace)
  })
}

/** What is left of a part; nothing where it doesn't parse. Throws `WorkExceeded`. */
function foldPart(part: unknown, scope: FoldScope): Expression {
  const parsed = parsePart(part)
  return 'error' in parsed ? literal(false) : fold(parsed.expression, scope)
}
