import { type Authorizer, createAuthorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import type { Collections } from '../store/collections.ts'

const ROLE_VERSION = /^\/internal\/roles\/(\d+)\/versions\/(\d+)$/

/** Decides from this service's own roles, as other services do from what they fetch. */
export function createOwnAuthorizer(collections: Pick<Collections, 'roleVersions'>): Authorizer {
  const get = async (path: string) => {
    const [, role, version] = ROLE_VERSION.exec(path) ?? []
    return (await collections.roleVersions.findOne({ _id: `${role}/${version}` })) ?? undefined
  }
  return createAuthorizer({ get }, publicFieldsOf)
}

/** The dependency that decides about a caller's rights. */
export interface Authorizing {
  authorizer: Authorizer
}

const NOTHING = { _id: { $in: [] } }

/** Returns the decision as a filter of documents. */
export function filterOf(decision: Decision): Record<string, unknown> {
  if (decision.kind === 'all') return {}
  return decision.kind === 'some' ? decision.filter : NOTHING
}

/** Returns the decision as a filter of documents in the caller's workspace. */
export const scopeOf = (caller: Caller, decision: Decision): Record<string, unknown> => ({
  $and: [{ workspace: caller.workspace._id }, filterOf(decision)],
})

interface Lookup<T extends mongo.Document> {
  authorizer: Authorizer
  caller: Caller
  resource: string
  collection: mongo.Collection<T>
  id: number
}

/** The document if the caller may read it; otherwise throws `not_found`. */
export async function findReadable<T extends { _id: number } & mongo.Document>(
  lookup: Lookup<T>,
): Promise<T> {
  const { authorizer, caller, resource, collection, id } = lookup
  const readable = scopeOf(caller, await authorizer.decide(caller, resource, 'read'))
  const found = { $and: [readable, { _id: id }] } as mongo.Filter<T>
  const document = (await collection.findOne(found)) as T | null
  if (document === null) throw new Problem('not_found')
  return document
}

/**
 * The document if the caller may write it, what they may write, and a filter that selects the document for as long as they
 * may, for the write itself. Throws `forbidden` when the resource or
 * this document is closed to them, `not_found` when they may not even read it.
 */
export async function findWritable<T extends { _id: number } & mongo.Document>(
  lookup: Lookup<T>,
): Promise<{ document: T; decision: Decision; writable: mongo.Filter<T> }> {
  const decision = await lookup.authorizer.require(lookup.caller, lookup.resource, 'write')
  const document = await findReadable(lookup)
  requireSelected(decision, document)
  const writable = { $and: [scopeOf(lookup.caller, decision), { _id: document._id }] } as mongo.Filter<T>
  return { document, decision, writable }
}

/** Throws `precondition_failed` unless a write found the document as it was read. */
export function requireFound(count: number): void {
  if (count === 0) throw new Problem('precondition_failed', { detail: 'It was just changed.' })
}

/** Throws `forbidden` unless the decision takes in the document. */
export function requireSelected(decision: Decision, document: object): void {
  if (!allows(decision, document)) throw new Problem('forbidden')
}

// An invitation is a user to be, so the rules for users are the rules for both.
const USER = ['_id', 'provider', 'username', 'name', 'phone', 'profile', 'workspace', 'role']
const INVITATION = ['email', 'account', 'expiresAt']

const FIELDS: Record<string, ReadonlySet<string>> = {
  users: new Set([...USER, ...INVITATION, 'context', 'createdAt', 'updatedAt']),
  roles: new Set(['_id', 'workspace', 'name', 'version', 'permissions', 'createdAt', 'updatedAt']),
  teams: new Set(['_id', 'workspace', 'name', 'members', 'createdAt', 'updatedAt']),
  tokens: new Set([
    ...['_id', 'workspace', 'account', 'role', 'name', 'createdAt', 'expiresAt', 'lastUsedAt'],
  ]),
  workspaces: new Set([
    ...['_id', 'name', 'namespace', 'host', 'status', 'context', 'createdAt', 'updatedAt'],
  ]),
  audit: new Set([
    ...['_id', 'workspace', 'at', 'account', 'token', 'action', 'resource', 'document', 'details'],
  ]),
}

/** Returns the fields of this service's documents that rules see: those of their public views, and no hash. */
export const publicFieldsOf = (resource: string): ReadonlySet<string> | undefined => FIELDS[resource]
