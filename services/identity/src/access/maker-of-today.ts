import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { noteIssued } from '../store/account.ts'
import type { Collections } from '../store/collections.ts'
import { callerOfAccount, roleOfToday } from './caller-of-today.ts'

interface Making {
  /** The account that made it, and the API token that was used. */
  made: { account: number; token?: number }
  /** Throws `forbidden` where this caller may not make it. */
  requireMayMake(caller: Caller): Promise<void>
  otherwise: 'invalid_invitation' | 'invalid_password_link'
}

/**
 * Throws `otherwise` unless whoever made something that others use later may make it today, in their own role and in that of
 * the API token. `transaction` writes their account first, so that what is read of it stays so until it is used.
 */
export async function requireMayStillMake(
  collections: Pick<Collections, 'accounts' | 'apiTokens' | 'roles' | 'workspaces'>,
  transaction: mongo.ClientSession,
  { made: { account, token }, requireMayMake, otherwise }: Making,
): Promise<void> {
  const isThere = await noteIssued(collections.accounts, transaction, { _id: account })
  const maker = isThere ? await callerOfAccount(collections, account) : undefined
  const withToken = token === undefined ? maker : maker && (await inRoleOf(collections, maker, token))
  if (maker === undefined || withToken === undefined) throw new Problem(otherwise)
  try {
    for (const caller of new Set([maker, withToken])) await requireMayMake(caller)
  } catch (error) {
    throw error instanceof Problem && error.code === 'forbidden' ? new Problem(otherwise) : error
  }
}

/** The maker in the role of the API token that was used; undefined once that has ended. */
async function inRoleOf(
  collections: Pick<Collections, 'apiTokens' | 'roles'>,
  maker: Caller,
  _id: number,
): Promise<Caller | undefined> {
  const token = await collections.apiTokens.findOne({ _id })
  if (token === null || (token.expiresAt !== undefined && token.expiresAt <= new Date())) return undefined
  const role = await roleOfToday(collections, token.role)
  return role && { ...maker, role, token: _id }
}
