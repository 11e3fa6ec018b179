import type { Authorizer } from '@parley/shared/authorizer'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { MessageRecord, MessageState } from '../../message/message-record.ts'
import { isReplayable, REPLAYABLE } from '../../message/progress.ts'
import { publishReplay } from '../../schedule/publish-replay.ts'
import type { Collections } from '../../store/collections.ts'
import { filterOf, messageFilter, ofPhone, ofThreadNamed, readableAndWritable, statesIn } from './filter.ts'
import { idParameter, MESSAGE_ID } from './message-schemas.ts'

const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 5_000
// Well below what the publisher takes in flight, for whatever else it publishes meanwhile.
const PUBLISHED_AT_ONCE = 1_000

/** The filter that excludes messages whose last attempt says that a function may have been done. */
const EFFECT_KNOWN = {
  $expr: { $ne: [{ $let: { vars: { last: { $last: '$attempts' } }, in: '$$last.code' } }, 'effect_unknown'] },
}

export interface Replaying {
  collections: Pick<Collections, 'messages' | 'threads'>
  publisher: Pick<Publisher, 'publish'>
  authorizer: Authorizer
}

/**
 * Runs those again that a filter picks, without those whose function may have been done already: whether that is to be done
 * again is a decision for each. The answer comes once the request is safe with the broker; a moment later they are under way.
 */
export const replayMessages = route({
  method: 'POST',
  path: '/rest/messages/replay',
  access: 'write',
  id: 'replayMessages',
  tag: 'messages',
  summary: 'Run messages again',
  description: 'Those that a filter picks, of what is dead, failed or unrouted, oldest first.',
  body: {
    schema: z
      .strictObject({
        ...messageFilter,
        limit: z.number().int().min(1).max(10_000).default(1_000),
      })
      .meta({ id: 'ReplayBody' }),
    example: { state: 'unrouted', channel: 'support-line', limit: 100 },
    optional: true,
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ replayed: z.number().int(), more: z.boolean().describe('Whether the limit left some out') })
      .meta({ id: 'Replayed' }),
    example: { replayed: 1, more: false },
  },
  errors: ['not_replayable'],
  handle:
    ({ collections: { messages, threads }, publisher, authorizer }: Replaying) =>
    async (_req, res, asked) => {
      const allowed = await readableAndWritable(res, authorizer)
      const given = asked.body()
      const { workspace } = callerOf(res)
      const named = await ofThreadNamed(threads, { workspace: workspace._id, thread: given.thread })
      const states = statesIn(given)?.map(replayableOnly) ?? [...REPLAYABLE]
      const found = await messages
        .find(
          ofPhone(given, {
            $and: [allowed, filterOf(given), named, EFFECT_KNOWN],
            state: { $in: states },
            open: { $exists: false },
          }),
          { maxTimeMS: QUERY_MS },
        )
        .project<Pick<MessageRecord, '_id' | 'workspace' | 'thread'>>({ workspace: 1, thread: 1 })
        .sort({ receivedAt: 1, order: 1 })
        .limit(given.limit + 1)
        .toArray()
      const picked = found.slice(0, given.limit)
      for (let at = 0; at < picked.length; at += PUBLISHED_AT_ONCE)
        await Promise.all(
          picked.slice(at, at + PUBLISHED_AT_ONCE).map((record) => publishReplay(publisher, record)),
        )
      res.json({ replayed: picked.length, more: found.length > picked.length })
    },
})

/** Only what is dead, failed or unrouted; anything else is 409. */
export const replayMessage = route({
  method: 'POST',
  path: '/rest/messages/{id}/replay',
  access: 'write',
  id: 'replayMessage',
  tag: 'messages',
  summary: 'Run a message again',
  description:
    'It goes on at the first send that did not get there; an agent goes on after its last stored turn.',
  parameters: [idParameter],
  response: {
    schema: z.object({ _id: z.string(), replayed: z.literal(true) }),
    example: { _id: MESSAGE_ID, replayed: true },
  },
  errors: ['not_found', 'not_replayable'],
  handle:
    ({ collections: { messages }, publisher, authorizer }: Replaying) =>
    async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await readableAndWritable(res, authorizer)] }
      const record = await messages.findOne(filter, { projection: { body: 0 }, maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      if (!isReplayable(record)) throw notReplayable(record.state)
      await publishReplay(publisher, record)
      res.json({ _id: record._id, replayed: true })
    },
})

function replayableOnly(state: MessageState): MessageState {
  if (!(REPLAYABLE as readonly MessageState[]).includes(state)) throw notReplayable(state)
  return state
}

function notReplayable(state: MessageState): Problem {
  return new Problem('not_replayable', {
    detail: `What is ${state} is not run again; only ${REPLAYABLE.join(', ')} is.`,
  })
}
