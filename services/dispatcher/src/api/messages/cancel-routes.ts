import type { Authorizer } from '@parley/shared/authorizer'
import type { WebhookMessage } from '@parley/shared/message'
import { route } from '@parley/shared/openapi/route'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import type { MessageRecord } from '../../message/message-record.ts'
import { CANCELLED, ended } from '../../message/progress.ts'
import { isNew, isScheduled, sendAtOf } from '../../message/send-at.ts'
import type { Collections } from '../../store/collections.ts'
import type { Committer } from '../../store/commit.ts'
import { readableAndWritable } from './filter.ts'
import { idParameter, MESSAGE_ID } from './message-schemas.ts'

const QUERY_MS = 5_000
/** Each round loses to a write of the message's run, which then has begun. */
const MAX_ROUNDS = 5

export interface Cancelling {
  collections: Pick<Collections, 'messages'>
  authorizer: Authorizer
  committer: Pick<Committer, 'commit'>
  retentionMs: number
}

/**
 * Whoever writes first has it: the message is cancelled at the revision at which it waits, and its run writes that it has
 * begun before anything leaves.
 */
export const cancelMessage = route({
  method: 'DELETE',
  path: '/rest/messages/{id}',
  access: 'write',
  id: 'cancelMessage',
  tag: 'messages',
  summary: 'Take a message back that waits for its time',
  description: 'One with a `sendAt`, before that comes. It stays in the log, `done` and `cancelled`.',
  parameters: [idParameter],
  response: {
    schema: z.object({ _id: z.string(), cancelled: z.literal(true) }),
    example: { _id: MESSAGE_ID, cancelled: true },
  },
  errors: ['not_found', 'not_scheduled'],
  handle:
    ({ collections: { messages }, authorizer, committer, retentionMs }: Cancelling) =>
    async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await readableAndWritable(res, authorizer)] }
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const record = await messages.findOne(filter, { maxTimeMS: QUERY_MS })
        if (record === null) throw new Problem('not_found')
        // Asked for twice, it is the same.
        const isCancelled = record.state === CANCELLED.state && record.reason === CANCELLED.reason
        if (!isCancelled && !isWaiting(record)) throw new Problem('not_scheduled')
        const cancelled = ended(record, { end: CANCELLED, at: Date.now(), retentionMs })
        if (!isCancelled && !(await committer.commit(record, cancelled))) continue
        return void res.json({ _id: record._id, cancelled: true })
      }
      throw new Problem('not_scheduled')
    },
})

/** A message that was taken a moment ago has not said yet that it waits. */
function isWaiting(record: MessageRecord): boolean {
  if (record.open !== true) return false
  return isScheduled(record) || (isNew(record) && sendAtOf(record, messageOf(record)) !== undefined)
}

const messageOf = ({ body }: MessageRecord): WebhookMessage => parseExact(body) as WebhookMessage
