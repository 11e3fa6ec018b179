import type { Caller } from '@parley/shared/internal-token'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { z } from 'zod'
import type { Administration } from '../administration.ts'
import { AT, AUTH_BODY_BYTES, NO_STORE, time } from '../schemas.ts'
import { revokeSession, revokeSessions } from '../sessions/revoke.ts'
import { hasEnded, type Session } from '../store/session.ts'

const MOST_SHOWN = 200
const MAX_MS = 5_000
const MAX_ID = 64

type Dependencies = Pick<Administration, 'connection' | 'collections'>

const example = {
  _id: 'bG9naW4tb2YtYW5h',
  createdAt: AT,
  usedAt: AT,
  userAgent: 'Mozilla/5.0',
  isCurrent: true,
}
const session = z
  .object({
    _id: z.string(),
    createdAt: time.describe('When somebody logged in'),
    usedAt: time.describe('When it was refreshed last'),
    userAgent: z
      .string()
      .nullable()
      .describe('The name that the program gives itself; 256 characters at most'),
    isCurrent: z.boolean().describe('Whether it is the one that asks'),
  })
  .meta({ id: 'OwnSession', description: 'A login of one’s own that has not ended' })

/** The sessions of the caller's own account that have not ended. */
export const ownSessionsRoute = route({
  method: 'GET',
  path: '/api/auth/sessions',
  access: 'token',
  id: 'listOwnSessions',
  tag: 'accounts',
  summary: 'List one’s own sessions',
  description: 'Those that have not ended, the latest 200 first. An API token may not.',
  response: {
    schema: z.object({ data: z.array(session) }).meta({ id: 'OwnSessions' }),
    example: { data: [example] },
    headers: NO_STORE,
  },
  handle:
    ({ collections }: Dependencies) =>
    async (_req, res) => {
      const { caller, session } = withSession(callerOf(res))
      const found = await collections.sessions
        .find({ account: caller.account._id, revokedAt: { $exists: false } }, { maxTimeMS: MAX_MS })
        .sort({ createdAt: -1 })
        .limit(MOST_SHOWN)
        .toArray()
      const now = Date.now()
      const living = found.filter((one) => !hasEnded(one, now))
      res.set('cache-control', 'no-store').json({ data: living.map((one) => sessionView(one, session)) })
    },
})

/** One of them ends, or all others than the one that asks. */
export const endOwnSessionsRoute = route({
  method: 'POST',
  path: '/api/auth/sessions/end',
  access: 'token',
  id: 'endOwnSessions',
  tag: 'accounts',
  summary: 'End sessions of one’s own',
  description:
    'The one of that id, or without it all others than the one that asks: their tokens stop working in under 2 s. ' +
    'An API token may not.',
  body: {
    schema: z.strictObject({ session: z.string().max(MAX_ID).optional() }),
    example: { session: example._id },
    optional: true,
    maxBytes: AUTH_BODY_BYTES,
  },
  response: { schema: z.object({ ended: z.literal(true) }), example: { ended: true } },
  errors: ['not_found'],
  handle:
    ({ connection, collections }: Dependencies) =>
    async (_req, res, asked) => {
      const { caller, session: except } = withSession(callerOf(res))
      const { session } = asked.body()
      const account = caller.account._id
      if (session === undefined)
        await inTransaction(connection, (transaction) =>
          revokeSessions(collections, transaction, { account, except }),
        )
      else {
        const found = await collections.sessions.findOne({ _id: session, account })
        if (found === null || hasEnded(found, Date.now())) throw new Problem('not_found')
        await inTransaction(connection, (transaction) => revokeSession(collections, transaction, session))
      }
      res.json({ ended: true })
    },
})

/** The caller with the session that asks. Throws `forbidden` for a token, which is for programs. */
export function withSession<C extends Caller>(caller: C): { caller: C; session: string } {
  if (caller.session === undefined) throw new Problem('forbidden')
  return { caller, session: caller.session }
}

function sessionView({ _id, createdAt, usedAt = createdAt, userAgent }: Session, current: string): object {
  return { _id, createdAt, usedAt, userAgent: userAgent ?? null, isCurrent: _id === current }
}
