import type { Idempotency } from '@parley/shared/idempotency'
import type { InternalClient } from '@parley/shared/internal-client'
import { jsonBody } from '@parley/shared/json-body'
import { encodeCursor, readQuery, splitPage } from '@parley/shared/list-query'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { Channels } from '../../channels/channels.ts'
import { publicId } from '../../message/thread-name.ts'
import type { IsFirstOfName } from '../../thread-log/first-of-name.ts'
import { changeThread, threadChange } from './change-thread.ts'
import { conversationQuery, readConversation } from './conversation.ts'
import { type Erasing, eraseThread } from './erase-thread.ts'
import { erasableTasks } from './erasers.ts'
import { requireThread, type ThreadStore, visibleThreads } from './find-thread.ts'
import { channelQuery, findThreads, threadQuery } from './list-threads.ts'
import { publishReply, type Reply, replyRequest } from './reply.ts'
import { readThread, threadViews } from './view.ts'

const MAX_BODY_BYTES = 512 * 1024

export interface ThreadRoutes extends ThreadStore, Erasing {
  channels: Pick<Channels, 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
}

/** /rest/threads: the list, one thread, its conversation, and what people do with it. */
export function threadRoutes(options: ThreadRoutes): Router {
  const { collections, authorizer, channels } = options
  const { messages } = collections
  const router = Router({ caseSensitive: true })
  const body = jsonBody({
    maxBytes: MAX_BODY_BYTES,
    types: ['application/json', 'application/merge-patch+json'],
  })
  router
    .route('/')
    .get(async (req, res) => {
      const allowed = await visibleThreads(res, authorizer)
      const asked = readQuery(threadQuery, req)
      const found = await findThreads(collections.threads, allowed, asked)
      const { page, last } = splitPage(found, asked.limit)
      const next = last === undefined ? null : encodeCursor([last.lastAt.getTime(), last._id])
      res.json({ data: await threadViews(channels, page), next })
    })
    .all(methodNotAllowed('GET'))
  const replySchema = replyRequest()
  router
    .route('/:id')
    .get(async (req, res) => {
      const { channel } = readQuery(channelQuery, req)
      const thread = await requireThread(options, res, { id: req.params.id, channel, access: 'read' })
      res.json(await readThread(options, { thread, caller: callerOf(res) }))
    })
    .patch(body, async (req, res) => {
      const { channel } = readQuery(channelQuery, req)
      const thread = await requireThread(options, res, { id: req.params.id, channel, access: 'write' })
      const caller = callerOf(res)
      const change = parse(threadChange, req.body)
      const changed = await changeThread(options, { thread, change, caller })
      res.json(await readThread(options, { thread: changed, caller }))
    })
    .delete(async (req, res) => {
      const { channel } = readQuery(channelQuery, req)
      const thread = await requireThread(options, res, { id: req.params.id, channel, access: 'write' })
      const tasks = await erasableTasks(options, { caller: callerOf(res), thread })
      await eraseThread(options, thread, tasks)
      const { left: tasksLeft } = tasks
      res.json({ _id: publicId(thread), deleted: true, ...(tasksLeft > 0 && { tasksLeft }) })
    })
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'))
  router
    .route('/:id/messages')
    .get(async (req, res) => {
      const asked = readQuery(conversationQuery, req)
      const thread = await requireThread(options, res, {
        id: req.params.id,
        channel: asked.channel,
        access: 'read',
      })
      res.json(await readConversation(messages, thread, asked))
    })
    .post(body, async (req, res) => {
      const { channel } = readQuery(channelQuery, req)
      const thread = await requireThread(options, res, { id: req.params.id, channel, access: 'write' })
      const reply = parse(replySchema, req.body) as Reply
      const { _id, replayed } = await publishReply(options, { req, caller: callerOf(res), thread, reply })
      if (replayed) res.set('idempotent-replayed', 'true')
      res.json({ _id })
    })
    .all(methodNotAllowed('GET', 'POST'))
  return router
}
