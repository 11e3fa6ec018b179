import { isDeepStrictEqual } from 'node:util'
import { RULED_RESOURCES } from '../configuration-resources.ts'
import type { Access } from './decide.ts'
import { type PermissionEntry, parsePart } from './entry.ts'
import { type Chain, type Expression, literal, type Path, partsOf } from './expression.ts'
import { type FoldScope, fold, isKnown } from './fold.ts'
import { grants, valueAt, workspaceOf } from './values.ts'
import { Work, WorkExceeded } from './work.ts'

/** Stands for every resource that has no name here. */
const ANY_OTHER = '(any other resource)'
/** Fields of an account that are its own, and nobody chooses. */
const IDS = ['_id', 'profile']
const ACCESSES: readonly Access[] = ['read', 'write']
/** The budget of one comparison of roles, in the steps of `Work`: twice a decision's. */
const BUDGET = 1_200_000

interface Grantor {
  permissions: readonly PermissionEntry[]
  account: object
}

/** An account that gets or has what is granted: each of its members is known as a whole, others are not. */
type Grantee = object

/**
 * True when somebody who has these permissions may grant `granted`, as Kubernetes decides for RBAC: each entry equals
 * one that they have and means the same for the grantee, or they have everything, without a condition, of each resource
 * of which the entry grants something. Of a grantee who is not named nothing is known but the workspace, and what an
 * entry makes of what is not known counts as granting. What takes more work to compare than the budget allows is not
 * covered.
 */
export function covers(
  grantor: Grantor,
  granted: readonly PermissionEntry[],
  grantee: Grantee = { workspace: valueAt(grantor.account, ['workspace']) },
): boolean {
  try {
    return coversAll({ grantor, granted, grantee, work: new Work(BUDGET) })
  } catch (error) {
    if (error instanceof WorkExceeded) return false
    throw error
  }
}

interface Comparison {
  grantor: Grantor
  granted: readonly PermissionEntry[]
  grantee: Grantee
  work: Work
}

function coversAll({ grantor, granted, grantee, work }: Comparison): boolean {
  const isSame = isSameFor(grantor.account, grantee)
  const own = new Set(grantor.permissions.filter(isSame).map(textOf))
  const others = granted.filter((entry) => !own.has(textOf(entry)))
  if (others.length === 0) return true
  // An admin's entry says nothing of a resource, so that nothing has to be compared.
  const everywhere = hasAllOf({ ...grantor, permissions: grantor.permissions.filter(namesNoResource), work })
  const open = ACCESSES.filter((access) => !everywhere(ANY_OTHER, access))
  if (open.length === 0) return true
  const has = hasAllOf({ ...grantor, work })
  const workspace = workspaceOf(grantor.account)
  return granted.every(
    (entry) =>
      own.has(textOf(entry)) ||
      resourcesNamedBy(entry).every((resource) =>
        grantedBy(entry, { resource, account: grantee, workspace, work }, open).every((access) =>
          has(resource, access),
        ),
      ),
  )
}

/** True when these permissions give all of a resource to their account; remembers what it found. */
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

/** True when an entry means the same for both: by what it looks at of them, or as documents name whose they are. */
function isSameFor(one: object, other: Grantee): (entry: PermissionEntry) => boolean {
  // A role may name a large context a thousand times.
  const verdicts = remembering((key) => {
    const keys = JSON.parse(key) as string[]
    return isKnown({ keys }, other) && isDeepStrictEqual(valueAt(one, keys), valueAt(other, keys))
  })
  const isSamePath = ({ root, keys }: Path) => root !== 'account' || verdicts(JSON.stringify(keys))
  const isSame = (expression: Expression): boolean =>
    everyPathIn(expression, isSamePath) ||
    namesWhose(expression) ||
    (isChain(expression) && expression.items.every((item) => isTruth(item) && isSame(item)))
  return (entry) => partsOfEntry(entry).every(isSame)
}

/** True when an expression selects the documents that name the account, as `doc.owner == account._id` does. */
function namesWhose(expression: Expression): boolean {
  if (expression.kind === 'call')
    return (
      (expression.method === 'in' || expression.method === 'includes') &&
      isOfDocument(expression.target) &&
      isId(expression.argument)
    )
  if (expression.kind !== 'compare' || expression.operator !== '==') return false
  const { left, right } = expression
  return (isOfDocument(left) && isId(right)) || (isId(left) && isOfDocument(right))
}

const isChain = (expression: Expression): expression is Chain =>
  expression.kind === 'and' || expression.kind === 'or'

/** True when an expression comes to true wherever it does not deny: `'x'` denies, and still ends a chain of `||`. */
const isTruth = (expression: Expression): boolean =>
  isChain(expression)
    ? expression.items.every(isTruth)
    : expression.kind === 'compare' ||
      expression.kind === 'not' ||
      (expression.kind === 'call' && expression.method !== 'indexOf')

const isOfDocument = (expression: Expression): boolean =>
  expression.kind === 'path' && expression.root === 'doc'

const isId = (expression: Expression): boolean =>
  expression.kind === 'path' && expression.root === 'account' && IDS.includes(expression.keys.join('.'))

const namesNoResource = (entry: PermissionEntry): boolean =>
  everyPath(entry, ({ root }) => root !== 'resource')

const everyPath = (entry: PermissionEntry, test: (path: Path) => boolean): boolean =>
  partsOfEntry(entry).every((part) => everyPathIn(part, test))

/** The parts of an entry that parse. */
const partsOfEntry = ({ schema, read, write }: PermissionEntry): Expression[] =>
  [schema, read, write].flatMap((part) => {
    const parsed = parsePart(part)
    return 'error' in parsed ? [] : [parsed.expression]
  })

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
  account: Grantee
  workspace: number | undefined
  work: Work
}

/** For which of these accesses an entry may give something of a resource to the account. */
function grantedBy(
  entry: PermissionEntry,
  { workspace, ...granting }: Granting,
  accesses: readonly Access[],
): readonly Access[] {
  const scope = { ...granting, isPartial: true }
  const schema = foldPart(entry.schema, scope)
  if (schema.kind === 'literal' && schema.value !== true) return []
  return accesses.filter((access) => {
    const part = foldPart(entry[access], scope)
    return part.kind !== 'literal' || grants(part.value, workspace)
  })
}

/** Folds a part to what is left of it; to nothing where it doesn't parse. Throws `WorkExceeded`. */
function foldPart(part: unknown, scope: FoldScope): Expression {
  const parsed = parsePart(part)
  return 'error' in parsed ? literal(false) : fold(parsed.expression, scope)
}
