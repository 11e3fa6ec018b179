import { defined } from '@parley/shared/defined'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { MessageRecord } from '../../message/message-record.ts'

/** The fields that messages can be picked by. */
export const messageFilter = {
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
