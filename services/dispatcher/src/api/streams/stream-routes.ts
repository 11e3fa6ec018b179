import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import { readQuery } from '@parley/shared/list-query'
import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { nameIn } from '../../message/thread-name.ts'
import type { EventStreams } from './event-streams.ts'
import { positionIn } from './position.ts'
import { readableBy } from './readable.ts'

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
