import type { Authorizer } from '@parley/shared/authorizer'
import { FairSlots } from '@parley/shared/fair-slots'
import type { InternalClient } from '@parley/shared/internal-client'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { CheckAccount } from '../../channels/account/check-account.ts'
import { requireDocument } from '../assistant/require-assistant.ts'

/** In flight, and those that wait for that. */
const LIMITS = {
  ...{ of: 'tests of channels', total: 64, each: [4], spare: 4 },
  queue: { total: 128, each: 8, ms: 5_000 },
}
const MAX_NAME = 512
const MAX_BODY_BYTES = 16 * 1024

/** The dependencies of testing channels. */
export interface ChannelTesting {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  checkAccount: CheckAccount
}

export const testChannel = route({
  method: 'POST',
  path: '/rest/channels/{id}/test',
  resource: 'channels',
  access: 'write',
  id: 'testChannel',
  tag: 'channels',
  summary: 'Test a channel at its provider',
  description:
    "The provider is asked with the channel's own token, for 10 s at most: whether it takes the token, knows the number, and sends the account's updates to an app; with `template` whether that is approved. Nothing is sent to anybody.",
  parameters: [idParameter('The `_id` of the channel')],
  body: {
    schema: z
      .object({
        template: z.string().min(1).max(MAX_NAME).optional(),
        language: z.string().min(1).max(MAX_NAME).optional(),
      })
      .meta({ id: 'ChannelTestBody' }),
    example: { template: 'order_update', language: 'pt_BR' },
    optional: true,
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z
      .object({
        checks: z.array(
          z.object({
            check: z.string(),
            result: z.enum(['ok', 'bad', 'unknown']).describe('`unknown` where it can not be checked'),
            text: z.string().describe('What was found, or what is wrong'),
          }),
        ),
      })
      .meta({ id: 'ChannelTest' }),
    example: { checks: [{ check: 'number', result: 'ok', text: '+551133334444 Verde, quality GREEN' }] },
  },
  errors: ['not_found', 'invalid_id', 'rate_limited'],
  handle: (needed: ChannelTesting) => {
    const slots = new FairSlots(LIMITS)
    return async (req, res, asked) => {
      const caller = callerOf(res)
      const id = pathId(req.params)
      const body = asked.body()
      await requireDocument(needed, { caller, resource: 'channels', id, access: 'write' })
      const workspace = caller.workspace._id
      const release = await slots.enter([workspace])
      try {
        const checks = await needed.checkAccount({ workspace, id }, body)
        res.set('cache-control', 'no-store').json({ checks })
      } finally {
        release()
      }
    }
  },
})
