import { LRUCache } from 'lru-cache'
import type { InternalClient } from './internal-client.ts'
import type { Caller } from './internal-token.ts'
import { type Decision, decide } from './permission/decide.ts'
import type { PermissionEntry } from './permission/entry.ts'
import { Problem } from './problem.ts'

const CACHED_ROLES = 10_000
/** How large the cached roles are together, in characters of their expressions: 32 MiB of memory at most. */
const MAX_ROLE_CHARACTERS = 16 * 1024 * 1024
/** The cost of a role's entry besides its expressions. */
const ENTRY = 64
/** How large the remembered decisions are together, in characters of their filters: some 100 MiB of memory at most. */
const MAX_FILTER_CHARACTERS = 8 * 1024 * 1024
/** The cost of a decision besides its filter. */
const DECISION = 256

/** Decides what a caller may do with a resource, from the very version of the role the gateway named. */
export interface Authorizer {
  /** The decision, at once where it is known; the caller's workspace still has to be AND-ed to every query. */
  decide(caller: Caller, resource: string, access: 'read' | 'write'): Decision | Promise<Decision>
  /** As `decide`, but throws `forbidden` where the whole resource is denied. */
  require(caller: Caller, resource: string, access: 'read' | 'write'): Decision | Promise<Decision>
}

/**
 * Fetches a version of a role from identity once and caches it: a version never changes, so there is nothing
 * to go stale. At most 10,000 are cached, of 16 Mi characters together. A rule sees of a document what `fieldsOf` its resource names: the fields of
 * its public view, or all of them where the service stores nothing else.
 */
export function createAuthorizer(
  identity: Pick<InternalClient, 'get'>,
  fieldsOf: (resource: string) => ReadonlySet<string> | undefined = () => undefined,
): Authorizer {
  const roles = new LRUCache<string, PermissionEntry[]>({
    max: CACHED_ROLES,
    maxSize: MAX_ROLE_CHARACTERS,
    sizeCalculation: charactersOf,
    // A role whose place another takes while it is fetched still answers those who wait for it.
    ignoreFetchAbort: true,
    fetchMethod: async (key) => {
      const role = (await identity.get(`/internal/roles/${key}`)) as
        | { permissions: PermissionEntry[] }
        | undefined
      if (role === undefined) throw new Problem('forbidden', { detail: 'The role no longer exists.' })
      return role.permissions
    },
  })
  // A caller is the same object for as long as its token is remembered, and its role's version never changes.
  const decisions = new WeakMap<Caller, Map<string, Decision>>()
  const filters = new LRUCache<Decision, () => void>({
    maxSize: MAX_FILTER_CHARACTERS,
    dispose: (forget) => forget(),
  })
  const remember = (caller: Caller, name: string, decision: Decision) => {
    const ofCaller = decisions.get(caller) ?? new Map<string, Decision>()
    decisions.set(caller, ofCaller.set(name, decision))
    if (decision.kind !== 'some') return
    const size = DECISION + JSON.stringify(decision.filter).length
    if (size > MAX_FILTER_CHARACTERS) ofCaller.delete(name)
    else filters.set(decision, () => ofCaller.delete(name), { size })
  }
  const decideAnew = async (caller: Caller, resource: string, access: 'read' | 'write') => {
    const permissions = (await roles.fetch(`${caller.role._id}/versions/${caller.role.version}`)) ?? []
    const { account, workspace, role } = caller
    const decision = decide({
      permissions,
      resource,
      access,
      fields: fieldsOf(resource),
      account: { ...account, workspace, role: { _id: role._id, name: role.name } },
    })
    remember(caller, `${access} ${resource}`, decision)
    return decision
  }
  const decideFor: Authorizer['decide'] = (caller, resource, access) =>
    decisions.get(caller)?.get(`${access} ${resource}`) ?? decideAnew(caller, resource, access)
  return {
    decide: decideFor,
    require: (caller, resource, access) => {
      const allowed = (decision: Decision) => {
        if (decision.kind === 'none')
          throw new Problem('forbidden', { detail: `The role may not ${access} ${resource}.` })
        return decision
      }
      const decision = decideFor(caller, resource, access)
      return decision instanceof Promise ? decision.then(allowed) : allowed(decision)
    },
  }
}

function charactersOf(permissions: readonly PermissionEntry[]): number {
  const length = (part: unknown) => (typeof part === 'string' ? part.length : 0)
  return permissions.reduce(
    (sum, { schema, read, write }) => sum + ENTRY + length(schema) + length(read) + length(write),
    ENTRY,
  )
}
