import { defined } from '@parley/shared/defined'
import { parameterError } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { MESSAGE_STATES, type MessageRecord, type MessageState } from '../../message/message-record.ts'

/** The fields that messages can be picked by. */
export const messageFilter = {
  state: z.enum(MESSAGE_STATES).optional(),
  status: z.enum(MESSAGE_STATES).optional().describe('Another name for `state`'),
  channel: z.string().max(1_024).optional(),
  thread: z.string().max(1_024).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
}

/** The database's filter for what was asked; `from` is included, `to` is not. */
export function filterOf(asked: z.output<z.ZodObject<typeof messageFilter>>): mongo.Filter<MessageRecord> {
  const { channel, thread, from, to } = asked
  return {
    ...defined({ channel, thread }),
    $and: [
      from === undefined ? {} : { receivedAt: { $gte: new Date(from) } },
      to === undefined ? {} : { receivedAt: { $lt: new Date(to) } },
    ],
  }
}

/** The state that was asked for, by its name or by `status`. Throws `validation_failed` where they differ. */
export function stateIn({
  state,
  status,
}: z.output<z.ZodObject<typeof messageFilter>>): MessageState | undefined {
  if (state !== undefined && status !== undefined && state !== status)
    throw parameterError('status', 'is another name for state, which says something else', 'contradiction')
  return state ?? status
}
