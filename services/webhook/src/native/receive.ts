import { randomUUIDv7 } from 'node:crypto'
import type { Authorizer } from '@parley/shared/authorizer'
import { threadOf, webhookMessage } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { validate } from '@parley/shared/validate'
import type { Request, RequestHandler } from 'express'
import { derivedMessageId, type Idempotency } from '../idempotency.ts'
import type { Publisher } from '../publish.ts'

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/**
 * POST /api/hooks/whatsapp: validates the message, publishes it, and repeats it as the answer once the broker
 * has confirmed it.
 */
export function receive(options: {
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
  authorizer: Authorizer
}): RequestHandler {
  const { publisher, idempotency, authorizer } = options
  return async (req, res) => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'messages', 'write')
    const message = validate(webhookMessage, req.body)
    if (decision.kind === 'some' && !decision.test(message)) throw new Problem('forbidden')
    const body = Buffer.from(JSON.stringify(message))
    const key = idempotencyKeyOf(req)
    const workspace = caller.workspace._id
    const messageId = key === undefined ? randomUUIDv7() : derivedMessageId({ workspace, key, body })
    const publish = () =>
      publisher.publish({
        messageId,
        workspace,
        channel: message.extId,
        thread: threadOf(message, messageId),
        source: 'api',
        requestId: res.locals.requestId,
        body,
      })
    if (key === undefined) await publish()
    else {
      const { replayed } = await idempotency.once({ workspace, key, body }, publish)
      if (replayed) res.set('idempotent-replayed', 'true')
    }
    res.set('x-message-id', messageId)
    res.type('application/json').end(body)
  }
}

function idempotencyKeyOf(req: Request): string | undefined {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key
  throw new Problem('validation_failed', {
    errors: [
      {
        path: 'Idempotency-Key',
        code: 'invalid_header',
        message: 'expected 1 to 255 visible ASCII characters',
      },
    ],
  })
}
