import type { Caller, InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { requireService } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Account } from '../accounts/account.ts'
import type { Models } from '../models.ts'

const MAX_BODY_BYTES = 4_096

const question = z.strictObject({ account: z.number().int(), session: z.string() })

/** `POST /internal/introspect`, for the gateway: whether a session still holds, and who is behind it. */
export function introspectRoute({
  models,
  verifier,
}: {
  models: Models
  verifier: InternalVerifier
}): Router {
  const router = Router()
  router.post(
    '/internal/introspect',
    requireService(verifier, 'gateway'),
    jsonBody({ maxBytes: MAX_BODY_BYTES }),
    async (req, res) => {
      const caller = await callerOfSession(models, parse(question, req.body))
      res.json(caller === undefined ? { active: false } : { active: true, caller })
    },
  )
  return router
}

async function callerOfSession(
  models: Models,
  asked: z.output<typeof question>,
): Promise<Caller | undefined> {
  const [session, account] = await Promise.all([
    models.sessions.findById(asked.session).lean(),
    models.accounts.findById(asked.account).lean(),
  ])
  if (session === null || account === null || session.account !== account._id) return undefined
  if (session.revokedAt !== undefined || session.expiresAt.getTime() <= Date.now()) return undefined
  const caller = await callerFor(models, account)
  return caller && { ...caller, session: session._id }
}

/** The account as services get to know it: with its workspace, and its role at today's version. */
async function callerFor(models: Models, account: Account): Promise<Caller | undefined> {
  const [workspace, role] = await Promise.all([
    models.workspaces.findById(account.workspace).lean(),
    models.roles.findById(account.role).lean(),
  ])
  if (workspace === null || role === null) return undefined
  return {
    account: {
      _id: account._id,
      username: account.username,
      name: account.name,
      profile: account.profile,
      context: account.context,
    },
    workspace: {
      _id: workspace._id,
      name: workspace.name,
      namespace: workspace.namespace,
      host: workspace.host,
    },
    role: { _id: role._id, name: role.name, version: role.version },
  }
}
