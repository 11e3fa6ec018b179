import type { Authorizer } from '@parley/shared/authorizer'
import { jsonBody } from '@parley/shared/json-body'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { MessageRecord, MessageState } from '../../message/message-record.ts'
import { isReplayable, REPLAYABLE } from '../../message/progress.ts'
import { publishReplay } from '../../schedule/publish-replay.ts'
import type { Collections } from '../../store/collections.ts'
import { filterOf, messageFilter, ofPhone, ofThreadNamed, statesIn, visibleTo } from './filter.ts'

const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 5_000
// Well below what the publisher takes in flight, for whatever else it publishes meanwhile.
const PUBLISHED_AT_ONCE = 1_000

/** What ended because a function may have been done has that as its last attempt. */
const EFFECT_KNOWN = {
  $expr: { $ne: [{ $let: { vars: { last: { $last: '$attempts' } }, in: '$$last.code' } }, 'effect_unknown'] },
}

/** Which messages are to run again. */
export const replayRequest = z.strictObject({
  ...messageFilter,
  limit: z.number().int().min(1).max(10_000).default(1_000),
})

/**
 * POST /rest/messages/{id}/replay runs one message again, POST /rest/messages/replay those that a filter picks,
 * oldest first, without those whose function may have been done already: whether that is to be done again is a decision
 * for each. Only what is dead, failed or unrouted may be; anything else is 409. The answer comes once the request
 * is safe with the broker; a moment later the message is under way.
 */
export function replayRoutes(options: {
  collections: Pick<Collections, 'messages' | 'threads'>
  publisher: Pick<Publisher, 'publish'>
  authorizer: Authorizer
}): Router {
  const { collections, publisher, authorizer } = options
  const { messages, threads } = collections
  // Who may only post messages must not reach those of others by running them again.
  const replayable = async (res: { locals: Record<string, unknown> }) => ({
    $and: [
      await visibleTo(res, { authorizer, access: 'read' }),
      await visibleTo(res, { authorizer, access: 'write' }),
    ],
  })
  const router = Router({ caseSensitive: true })
  router
    .route('/replay')
    .post(jsonBody({ maxBytes: MAX_BODY_BYTES }), async (req, res) => {
      const allowed = await replayable(res)
      const asked = parse(replayRequest, req.body ?? {})
      const { workspace } = callerOf(res)
      const named = await ofThreadNamed(threads, { workspace: workspace._id, thread: asked.thread })
      const states = statesIn(asked)?.map(replayableOnly) ?? [...REPLAYABLE]
      const found = await messages
        .find(
          ofPhone(asked, {
            $and: [allowed, filterOf(asked), named, EFFECT_KNOWN],
            state: { $in: states },
            open: { $exists: false },
          }),
          { maxTimeMS: QUERY_MS },
        )
        .project<Pick<MessageRecord, '_id' | 'workspace' | 'thread'>>({ workspace: 1, thread: 1 })
        .sort({ receivedAt: 1, order: 1 })
        .limit(asked.limit + 1)
        .toArray()
      const picked = found.slice(0, asked.limit)
      for (let at = 0; at < picked.length; at += PUBLISHED_AT_ONCE)
        await Promise.all(
          picked.slice(at, at + PUBLISHED_AT_ONCE).map((record) => publishReplay(publisher, record)),
        )
      res.json({ replayed: picked.length, more: found.length > picked.length })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/:id/replay')
    .post(async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await replayable(res)] }
      const record = await messages.findOne(filter, { projection: { body: 0 }, maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      if (!isReplayable(record)) throw notReplayable(record.state)
      await publishReplay(publisher, record)
      res.json({ _id: record._id, replayed: true })
    })
    .all(methodNotAllowed('POST'))
  return router
}

function replayableOnly(state: MessageState): MessageState {
  if (!(REPLAYABLE as readonly MessageState[]).includes(state)) throw notReplayable(state)
  return state
}

function notReplayable(state: MessageState): Problem {
  return new Problem('not_replayable', {
    detail: `What is ${state} is not run again; only ${REPLAYABLE.join(', ')} is.`,
  })
}
