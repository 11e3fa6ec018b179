import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { ShowPresence } from '../streams/presence.ts'
import { requireThread, type ThreadStore } from './find-thread.ts'
import { channelQuery } from './list-threads.ts'
import { threadErrors, threadParameter } from './thread-schemas.ts'

const MAX_BODY_BYTES = 1_024

/** The dependencies of showing who of the team has a thread open. */
export interface PresenceShown extends ThreadStore {
  showPresence: ShowPresence
}

export const showPresence = route({
  method: 'POST',
  path: '/rest/threads/{id}/presence',
  access: 'read',
  id: 'showPresence',
  tag: 'threads',
  summary: 'Show the team who has the thread open',
  description:
    'The event stream has it as `presence`, for who may read the thread. It is not stored: whoever has it open says so every 10 seconds, and is away after 25 without.',
  parameters: [threadParameter],
  query: channelQuery,
  body: {
    schema: z
      .strictObject({ typing: z.boolean().optional().describe('Whether they write a reply') })
      .meta({ id: 'Presence' }),
    example: { typing: true },
    maxBytes: MAX_BODY_BYTES,
    optional: true,
  },
  response: {
    schema: z.object({
      shown: z.boolean().describe('False while nothing can be passed on, which is no error'),
    }),
    example: { shown: true },
  },
  errors: threadErrors,
  handle: (needed: PresenceShown) => async (req, res, asked) => {
    const { channel } = asked.query()
    const { typing: isTyping = false } = asked.body()
    const thread = await requireThread(needed, res, { id: req.params.id, channel, access: 'read' })
    const { _id, name } = callerOf(res).account
    res.json({ shown: await needed.showPresence(thread, { by: { _id, name }, isTyping }) })
  },
})
