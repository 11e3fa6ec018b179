import { randomUUIDv7 } from 'node:crypto'
import type { Authorizer } from '@parley/shared/authorizer'
import type { WebhookMessage } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request, RequestHandler } from 'express'
import type { AudioStore } from '../audio/audio-store.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import type { Channels } from '../channels/channels.ts'
import type { Idempotency } from '../idempotency.ts'
import { derivedMessageId } from '../message-id.ts'
import { messagePublication, traceparentOf } from '../publication.ts'
import type { Publisher } from '../publish.ts'
import { readMessage } from './read-message.ts'

// Together with what Redis may take afterwards, the answer is there within 5 s of the body.
const ACCEPT_MS = 3_700
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

export interface NativeIntake {
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
  authorizer: Authorizer
  channels: Pick<Channels, 'known'>
  audio: Pick<AudioStore, 'keepLarge'>
  budget: BodyBudget
  bodyTimeoutMs: number
}

/**
 * POST /api/hooks/whatsapp: validates the message, publishes it, and repeats it as the answer once the broker
 * has confirmed it.
 */
export function receive(intake: NativeIntake): RequestHandler {
  const { idempotency, authorizer, budget, bodyTimeoutMs } = intake
  return async (req, res) => {
    const started = performance.now()
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'messages', 'write')
    const authorizedIn = performance.now() - started
    const key = idempotencyKeyOf(req)
    const message = await readMessage(req, { timeoutMs: bodyTimeoutMs, budget })
    if (decision.kind === 'some' && !decision.test(message)) throw new Problem('forbidden')
    const text = JSON.stringify(message)
    const body = Buffer.from(text)
    const workspace = caller.workspace._id
    const messageId =
      key === undefined ? randomUUIDv7() : derivedMessageId({ source: 'api', workspace, key, body })
    const deadline = performance.now() + ACCEPT_MS - authorizedIn
    const publish = () => accept(intake, { req, messageId, message, body, workspace, deadline })
    if (key === undefined) await publish()
    else {
      const { replayed } = await idempotency.once({ workspace, key, body }, publish)
      if (replayed) res.set('idempotent-replayed', 'true')
    }
    res.setHeader('x-message-id', messageId)
    // As text it goes out in one write with the headers.
    res.setHeader('content-type', 'application/json; charset=utf-8')
    res.setHeader('content-length', body.length)
    res.end(text)
  }
}

async function accept(
  { publisher, channels, audio }: NativeIntake,
  accepted: {
    req: Request
    messageId: string
    message: WebhookMessage
    body: Buffer
    workspace: number
    deadline: number
  },
): Promise<void> {
  const { req, messageId, message, body, workspace, deadline } = accepted
  const provenance = {
    workspace,
    source: 'api',
    channelId: channels.known(workspace, message.extId)?._id,
    requestId: String(req.headers['x-request-id']),
    traceparent: traceparentOf(req.headers),
  } as const
  const kept = await audio.keepLarge({
    message,
    messageId,
    workspace,
    withinMs: deadline - performance.now(),
  })
  const publication = messagePublication({
    messageId,
    message,
    body: kept === undefined ? body : Buffer.from(JSON.stringify(kept)),
    provenance,
  })
  return publisher.publish(publication, deadline - performance.now())
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
