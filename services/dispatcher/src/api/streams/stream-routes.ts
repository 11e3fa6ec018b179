import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { readQuery } from '@parley/shared/list-query'
import type { Decision } from '@parley/shared/permission/decide'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { nameIn } from '../../message/thread-record.ts'
import type { EventStreams } from './event-streams.ts'
import { positionIn } from './position.ts'
import type { Readable, Subject } from './reader.ts'

const QUERY_MS = 5_000

/** What the stream of one thread is asked by. */
export const threadStreamQuery = z.object({ channel: z.string().max(1_024).optional() })

const noQuery = z.object({})

/** GET /rest/events, and GET /rest/threads/{extId}/events: what happens in the caller's workspace, as it happens. */
export function streamRoutes(options: {
  streams: EventStreams
  authorizer: Authorizer
  db(): mongo.Db | undefined
  requireCaller: RequestHandler
}): Router {
  const { streams, requireCaller } = options
  const open = async (req: Request, res: Response, scope: { thread?: string; channel?: string }) => {
    const caller = callerOf(res)
    const readable = await readableBy(caller, options)
    const last = req.headers['last-event-id']
    const from = typeof last === 'string' ? positionIn(last) : undefined
    const isUnknown = last !== undefined && last !== '' && from === undefined
    await streams.open({
      res,
      account: caller.account._id,
      scope: { workspace: caller.workspace._id, ...scope },
      readable,
      from,
      isUnknown,
    })
  }
  const router = Router({ caseSensitive: true, strict: true })
  router
    .route('/events')
    .all(requireCaller, refuseHead)
    .get(async (req, res) => {
      readQuery(noQuery, req)
      await open(req, res, {})
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/threads/:extId/events')
    .all(requireCaller, refuseHead)
    .get(async (req, res) => {
      const { channel } = readQuery(threadStreamQuery, req)
      const { extId } = req.params
      const name = nameIn(extId)
      const scope = { thread: name?.extId ?? extId, ...defined({ channel: channel ?? name?.channel }) }
      await open(req, res, scope)
    })
    .all(methodNotAllowed('GET'))
  return router
}

/** Express answers HEAD as GET, and a stream has no end. */
const refuseHead: RequestHandler = (req, res, next) =>
  req.method === 'HEAD' ? methodNotAllowed('GET')(req, res, next) : next()

/** What the role of a caller lets it read of messages and threads. Throws `forbidden` where that is neither. */
async function readableBy(
  caller: Caller,
  { authorizer, db }: { authorizer: Authorizer; db(): mongo.Db | undefined },
): Promise<Readable> {
  const decisions: Record<Subject['resource'], Decision> = {
    messages: await authorizer.decide(caller, 'messages', 'read'),
    threads: await authorizer.decide(caller, 'threads', 'read'),
  }
  if (decisions.messages.kind === 'none' && decisions.threads.kind === 'none')
    throw new Problem('forbidden', { detail: 'The role may read neither messages nor threads.' })
  return {
    kindOf: (resource) => decisions[resource].kind,
    async among(resource, ids) {
      const decision = decisions[resource]
      if (decision.kind === 'none') return new Set()
      const allowed = decision.kind === 'some' ? decision.filter : {}
      const own = { _id: { $in: ids }, workspace: caller.workspace._id }
      const found = await db()
        ?.collection<{ _id: unknown }>(resource)
        .find({ $and: [own, allowed] } as object, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
        .toArray()
      return new Set(found?.map(({ _id }) => _id))
    },
  }
}
