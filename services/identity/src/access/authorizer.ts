import { type Authorizer, createAuthorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import type { Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { Model } from 'mongoose'
import type { Models } from '../models.ts'
import type { Role } from '../roles/role.ts'

const ROLE_VERSION = /^\/internal\/roles\/(\d+)\/versions\/(\d+)$/

/** Decides from this service's own roles, as other services do from what they fetch. */
export function createOwnAuthorizer(models: Pick<Models, 'roleVersions'>): Authorizer {
  return createAuthorizer({
    get: async (path) => {
      const [, role, version] = ROLE_VERSION.exec(path) ?? []
      return (await models.roleVersions.findById(`${role}/${version}`).lean()) ?? undefined
    },
  })
}

const NOTHING = { _id: { $in: [] } }

/** What the decision selects of the caller's workspace, as a filter. */
export function scopeOf(caller: Caller, decision: Decision): Record<string, unknown> {
  const workspace = { workspace: caller.workspace._id }
  if (decision.kind === 'all') return workspace
  return { $and: [workspace, decision.kind === 'some' ? decision.filter : NOTHING] }
}

interface Wanted<T> {
  authorizer: Authorizer
  caller: Caller
  resource: string
  model: Model<T>
  id: number
}

/** The document if the caller may read it; otherwise throws `not_found`. */
export async function findReadable<T extends { _id: number }>(wanted: Wanted<T>): Promise<T> {
  const { authorizer, caller, resource, model, id } = wanted
  const readable = scopeOf(caller, await authorizer.decide(caller, resource, 'read'))
  const document = (await model.findOne({ $and: [readable, { _id: id }] }).lean()) as T | null
  if (document === null) throw new Problem('not_found')
  return document
}

/**
 * The document if the caller may write it, and what they may write. Throws `forbidden` when the resource or
 * this document is closed to them, `not_found` when they may not even read it.
 */
export async function findWritable<T extends { _id: number }>(
  wanted: Wanted<T>,
): Promise<{ document: T; decision: Decision }> {
  const decision = await wanted.authorizer.require(wanted.caller, wanted.resource, 'write')
  const document = await findReadable(wanted)
  requireSelected(decision, document)
  return { document, decision }
}

/** Whether the decision takes in a document of the caller's workspace. */
export function selects(decision: Decision, document: object): boolean {
  return decision.kind === 'all' || (decision.kind === 'some' && decision.test(document))
}

/** Throws `forbidden` unless the decision takes in the document. */
export function requireSelected(decision: Decision, document: object): void {
  if (!selects(decision, document)) throw new Problem('forbidden')
}

/**
 * Throws `forbidden` when the caller may not give this role away: their own anyone may, any other only who
 * may write it. Otherwise whoever may make tokens or users could make themselves an admin.
 */
export async function requireMayGive(
  authorizer: Authorizer,
  caller: Caller,
  role: Pick<Role, '_id'>,
): Promise<void> {
  if (role._id === caller.role._id) return
  const decision = await authorizer.decide(caller, 'roles', 'write')
  if (!selects(decision, role))
    throw new Problem('forbidden', {
      detail: 'Only who may write roles may give another role than their own.',
    })
}
