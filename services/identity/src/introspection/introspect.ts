import type { Caller, InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { createCoverage } from '@parley/shared/permission/coverage'
import { Problem } from '@parley/shared/problem'
import { requireService } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { callerFor, callerOfAccount, roleOfToday } from '../access/caller-of-today.ts'
import type { ApiToken } from '../store/api-token.ts'
import type { Collections } from '../store/collections.ts'
import { roleVersionId } from '../store/role.ts'
import { hasEnded } from '../store/session.ts'

const MAX_BODY_BYTES = 4_096

/** The dependencies of finding the account behind a token. */
interface Confirming {
  collections: Collections
  /** Decides if a caller has all rights of a role. */
  covers: ReturnType<typeof createCoverage>
}

const confirmingWith = (collections: Collections): Confirming => ({
  collections,
  covers: createCoverage(async ({ _id, version }) => {
    const found = await collections.roleVersions.findOne({ _id: roleVersionId(_id, version) })
    return found?.permissions
  }),
})

const question = z.union([
  z.strictObject({ account: z.number().int(), session: z.string() }),
  z.strictObject({ tokenHash: z.string() }),
])

/** Routes for the account behind a token, for the gateway, and for an account in its role of today, for the dispatcher. */
export function introspectionRoutes({
  collections,
  verifier,
}: {
  collections: Collections
  verifier: InternalVerifier
}): Router {
  const confirming = confirmingWith(collections)
  const router = Router({ caseSensitive: true })
  router.post(
    '/internal/introspect',
    requireService(verifier, 'gateway'),
    jsonBody({ maxBytes: MAX_BODY_BYTES }),
    async (req, res) => {
      const confirmed = await confirm(confirming, parse(question, req.body))
      const isActive = confirmed !== undefined && 'caller' in confirmed
      res.json({ active: isActive, ...confirmed })
    },
  )
  // With `token` of one of the account's API tokens. 404 once it is gone, has ended, or has less than the token.
  router.get('/internal/callers/:account', requireService(verifier, 'dispatcher'), async (req, res) => {
    const { account, token } = parse(named, { ...req.params, ...req.query })
    const caller =
      token === undefined
        ? await callerOfAccount(collections, account)
        : await callerOfToken(confirming, account, token)
    if (caller === undefined) throw new Problem('not_found')
    res.json(caller)
  })
  return router
}

const named = z.object({ account: z.coerce.number().int(), token: z.coerce.number().int().optional() })

async function callerOfToken(
  confirming: Confirming,
  account: number,
  _id: number,
): Promise<Caller | undefined> {
  const token = await confirming.collections.apiTokens.findOne({ _id, account })
  if (token === null || (token.expiresAt !== undefined && token.expiresAt <= new Date())) return undefined
  return callerOfGiven(confirming, token)
}

function confirm(
  confirming: Confirming,
  asked: z.output<typeof question>,
): Promise<Confirmed | Ended | undefined> {
  return 'tokenHash' in asked
    ? confirmApiToken(confirming, asked.tokenHash)
    : confirmSession(confirming.collections, asked)
}

/** A caller, and when what it came with ends, in milliseconds since 1970. */
interface Confirmed {
  caller: Caller
  expiresAt?: number
}

/** When an API token ended, in milliseconds since 1970. */
interface Ended {
  endedAt: number
}

/** The caller of a session that was neither revoked nor ran out, and whose account is still there. */
async function confirmSession(
  collections: Collections,
  asked: { account: number; session: string },
): Promise<Confirmed | undefined> {
  const [session, account] = await Promise.all([
    collections.sessions.findOne({ _id: asked.session }),
    collections.accounts.findOne({ _id: asked.account }),
  ])
  if (session === null || account === null || session.account !== account._id) return undefined
  if (hasEnded(session, Date.now())) return undefined
  const caller = await callerFor(collections, account)
  return caller && { caller: { ...caller, session: session._id } }
}

/**
 * The caller of an API token: the account that made it, in the token's own role. None once the account has less than
 * the token. Notes that it was used.
 */
async function confirmApiToken(confirming: Confirming, hash: string): Promise<Confirmed | Ended | undefined> {
  const lastUsedAt = new Date()
  const token = await confirming.collections.apiTokens.findOneAndUpdate({ hash }, { $set: { lastUsedAt } })
  if (token === null) return undefined
  if (token.expiresAt !== undefined && token.expiresAt <= lastUsedAt)
    return { endedAt: token.expiresAt.getTime() }
  const caller = await callerOfGiven(confirming, token)
  if (caller === undefined) return undefined
  const end = token.expiresAt === undefined ? {} : { expiresAt: token.expiresAt.getTime() }
  return { caller, ...end }
}

/** The account that made a token, in the token's role, for as long as it has all that it gave. */
async function callerOfGiven(
  { collections, covers }: Confirming,
  token: Pick<ApiToken, '_id' | 'account' | 'role'>,
): Promise<Caller | undefined> {
  const maker = await callerOfAccount(collections, token.account)
  if (maker === undefined) return undefined
  if (token.role === maker.role._id) return { ...maker, token: token._id }
  const role = await roleOfToday(collections, token.role)
  if (role === undefined || !(await covers(maker, role))) return undefined
  return { ...maker, role, token: token._id }
}
