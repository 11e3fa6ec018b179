import { CONFIGURATION_RESOURCES } from '../configuration-resources.ts'
import { type Access, decide, type PermissionEntry } from './decide.ts'
import { parsePart } from './entry.ts'
import { type Expression, partsOf } from './expression.ts'
import { fold } from './fold.ts'
import { grants, workspaceOf } from './values.ts'
import { Work, WorkExceeded } from './work.ts'

const RESOURCES = [
  ...CONFIGURATION_RESOURCES,
  ...['users', 'roles', 'tokens', 'audit', 'workspaces', 'messages', 'threads', 'subscriptions', 'usage'],
]
/** Stands for every resource that has no name here. */
const ANY_OTHER = '(any other resource)'
/** What of an account is the same for everyone to whom an entry may be granted. */
const COMMON_ACCOUNT_KEYS = ['_id', 'workspace']

/**
 * Whether somebody who has these permissions may grant `granted`, as Kubernetes decides for RBAC: each entry equals
 * one that they have, or they have everything, without a condition, of each resource of which the entry grants
 * something. What an entry makes of the account that it is granted to is not known, so it counts as granting.
 */
export function covers(
  { permissions, account }: { permissions: readonly PermissionEntry[]; account: object },
  granted: readonly PermissionEntry[],
): boolean {
  const own = new Set(permissions.filter(isSameForEveryone).map(textOf))
  const decided = new Map<string, boolean>()
  const grantsAll = (resource: string, access: Access): boolean => {
    const key = `${access} ${resource}`
    const known = decided.get(key) ?? decide({ permissions, resource, account, access }).kind === 'all'
    decided.set(key, known)
    return known
  }
  const workspace = workspaceOf(account)
  return granted.every((entry) => {
    if (own.has(textOf(entry))) return true
    return (['read', 'write'] as const).every((access) =>
      resourcesNamedBy(entry).every(
        (resource) => !mayGrant(entry, { access, resource, workspace }) || grantsAll(resource, access),
      ),
    )
  })
}

/** An entry as text; what denies is the same however it is written. */
function textOf({ schema, read, write }: PermissionEntry): string {
  const part = (value: unknown) => (typeof value === 'string' ? value.trim() : value === true ? 'true' : '')
  return JSON.stringify([part(schema), part(read), part(write)])
}

/** An entry that looks at more of the account than who it is may mean more for another account. */
function isSameForEveryone({ schema, read, write }: PermissionEntry): boolean {
  return [schema, read, write].every((part) => {
    const parsed = parsePart(part)
    return 'error' in parsed || !looksAtAccount(parsed.expression)
  })
}

function looksAtAccount(expression: Expression): boolean {
  if (expression.kind !== 'path') return partsOf(expression).some(looksAtAccount)
  return expression.root === 'account' && !COMMON_ACCOUNT_KEYS.includes(expression.keys[0] ?? '')
}

/** Every known resource, every other one by one name, and whatever text the schema compares with. */
function resourcesNamedBy({ schema }: PermissionEntry): string[] {
  const parsed = parsePart(schema)
  return 'error' in parsed ? [] : [...new Set([...RESOURCES, ANY_OTHER, ...textsIn(parsed.expression)])]
}

function textsIn(expression: Expression): string[] {
  if (expression.kind === 'literal') return typeof expression.value === 'string' ? [expression.value] : []
  return partsOf(expression).flatMap(textsIn)
}

interface Grant {
  access: Access
  resource: string
  workspace: number | undefined
}

function mayGrant(entry: PermissionEntry, { access, resource, workspace }: Grant): boolean {
  const caller = { resource, account: { workspace: { _id: workspace } }, isPartial: true }
  const schema = foldFor(entry.schema, caller)
  const granting = foldFor(entry[access], caller)
  const applies = schema.kind !== 'literal' || schema.value === true
  return applies && (granting.kind !== 'literal' || grants(granting.value, workspace))
}

const DENIES: Expression = { kind: 'literal', value: false }

function foldFor(part: unknown, caller: Parameters<typeof fold>[1]): Expression {
  const parsed = parsePart(part)
  if ('error' in parsed) return DENIES
  try {
    return fold(parsed.expression, { ...caller, work: new Work() })
  } catch (error) {
    // Where it is decided on it takes too much work as well, and denies.
    if (error instanceof WorkExceeded) return DENIES
    throw error
  }
}
