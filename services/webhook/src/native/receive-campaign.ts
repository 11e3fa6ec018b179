import { jsonBody } from '@parley/shared/json-body'
import { CAMPAIGN_SOURCE, postedMessage } from '@parley/shared/message'
import {
  derivedMessageId,
  messagePublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { validate } from '@parley/shared/validate'
import { type Request, Router } from 'express'
import { z } from 'zod'
import { placeOfMessage } from '../people/message-place.ts'
import type { People } from '../people/people.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_MESSAGES = 200
const MAX_BYTES = 4 * 1024 * 1024
/** Whoever posts waits for 3 s. */
const PUBLISH_MS = 2_500

const batch = z.object({
  campaign: z.string().min(1).max(128),
  channelId: z.number().int(),
  messages: z
    .array(z.object({ recipient: z.string().min(1).max(128), message: postedMessage }))
    .min(1)
    .max(MAX_MESSAGES),
})

/**
 * For the campaigns service: POST messages, below its workspace, one for each recipient. Its id follows from
 * campaign and recipient alone, so that repeated work never is a second message, whatever it says by then.
 */
export function campaignRoutes({
  publisher,
  people,
}: {
  publisher: Pick<Publisher, 'publish'>
  people: Pick<People, 'find'>
}): Router {
  const router = Router({ caseSensitive: true, mergeParams: true })
  router
    .route('/messages')
    .post(jsonBody({ maxBytes: MAX_BYTES }), async (req: Request<{ workspace: string }>, res) => {
      const { workspace: given } = req.params
      if (!WORKSPACE.test(given)) throw new Problem('invalid_id')
      const workspace = Number(given)
      const { campaign, channelId, messages } = validate(batch, req.body)
      const deadline = performance.now() + PUBLISH_MS
      const provenance = {
        ...{ workspace, source: CAMPAIGN_SOURCE, channelId },
        requestId: String(req.headers['x-request-id']),
        traceparent: traceparentOf(req.headers),
      }
      const data = await Promise.all(
        messages.map(async ({ recipient, message }) => {
          const origin = { source: CAMPAIGN_SOURCE, workspace, channel: campaign, id: recipient }
          const messageId = derivedMessageId(origin)
          const place = await placeOfMessage(people, { workspace, message, messageId })
          const body = Buffer.from(JSON.stringify(message))
          const publication = messagePublication({ messageId, message, body, provenance, ...place })
          await publisher.publish(publication, deadline)
          return { recipient, messageId }
        }),
      )
      res.json({ data })
    })
    .all(methodNotAllowed('POST'))
  return router
}
