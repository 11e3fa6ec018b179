import { randomUUIDv7 } from 'node:crypto'
import type { Authorizer } from '@parley/shared/authorizer'
import type { Idempotency } from '@parley/shared/idempotency'
import { roundedIn, unstorable } from '@parley/shared/json-body'
import { MESSAGE_PATHS, postedMessage, type WebhookMessage } from '@parley/shared/message'
import {
  derivedMessageId,
  type MessagePublication,
  messagePublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { route } from '@parley/shared/openapi/route'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { validate } from '@parley/shared/validate'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Request } from 'express'
import { z } from 'zod'
import { type AudioStore, largeAudioOf } from '../audio/audio-store.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import { parseBytes, readBody } from '../body/read-body.ts'
import type { Channels } from '../channels.ts'
import { placeOfMessage } from '../people/message-place.ts'
import type { People, Place } from '../people/people.ts'
import { audioSpan } from './audio-span.ts'

const MIB = 1024 * 1024
const MAX_BYTES = MIB
const MAX_AUDIO_BYTES = 16 * MIB
// A character of audio may be written as an escape.
const MAX_AUDIO_WRITTEN = 22 * MIB
const TYPE = 'application/json'
const compiledMessage = z.compile(postedMessage)
const USUAL_TYPES = [TYPE, `${TYPE}; charset=utf-8`]
// Together with what Redis may take afterwards, the answer is there within 5 s of the body.
const ACCEPT_MS = 3_700
const MAX_AHEAD_MS = 30 * 24 * 60 * 60 * 1_000
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

export interface NativeIntake {
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
  authorizer: Authorizer
  channels: Pick<Channels, 'known' | 'find'>
  people: Pick<People, 'find'>
  audio: Pick<AudioStore, 'store'>
  budgets: { authenticated: BodyBudget }
  bodyTimeoutMs: number
}

/** How long an answer waits to say that nobody knows the channel, beyond what publishing takes. */
const LOOKUP_MS = 250

interface Accepted {
  req: Request
  messageId: string
  message: WebhookMessage
  body: Buffer
  workspace: number
  place: Place
  channelId: number | undefined
  deadline: number
}

/** A message as it is posted. */
export const message = postedMessage.meta({
  id: 'WebhookMessage',
  description: 'A message; what is not described here is stored and repeated',
})
export const messageExample = {
  extId: 'support-line',
  user: { name: 'João', phone: '+5511988887777' },
  thread: { extId: 'order-4711' },
  answer: {
    message: 'On its way.',
    functions: [
      {
        name: 'callback',
        args: { template: 'order_update', variables: ['João', '4711'], language: 'pt_BR' },
      },
    ],
  },
}

const [POSTED_TO, ...ALIASES] = MESSAGE_PATHS

/** Validates the message, publishes it, and repeats it as the answer once the broker has confirmed it. */
export const receiveMessage = route({
  method: 'POST',
  path: POSTED_TO,
  aliases: ALIASES,
  access: 'write',
  resource: 'messages',
  id: 'postMessage',
  tag: 'webhooks',
  summary: 'Post a message',
  description:
    '200 once the broker has confirmed it. Up to 1 MiB, with `audio` of up to 16 MiB in addition. Two equal posts are two messages, unless they carry the same `Idempotency-Key`.',
  parameters: [
    {
      in: 'header',
      name: 'Idempotency-Key',
      description: 'Makes repeats one message, for 7 days',
      schema: z.string().regex(IDEMPOTENCY_KEY),
      example: 'order-4711',
    },
  ],
  body: { schema: message, example: messageExample },
  response: {
    schema: message,
    example: messageExample,
    description: 'The message, repeated',
    headers: [
      { name: 'X-Message-Id', description: 'Names the message in the log' },
      {
        name: 'Parley-Warning',
        description:
          '`unknown-channel` where the workspace has no channel with this `extId`: the message is logged, and `unrouted` unless there is one once its turn comes',
      },
      { name: 'Idempotent-Replayed', description: '`true` where the key was confirmed before' },
    ],
  },
  errors: ['idempotency_in_flight', 'idempotency_key_reused'],
  handle: (intake: NativeIntake) => {
    const { idempotency, authorizer, channels, people, bodyTimeoutMs } = intake
    const budget = intake.budgets.authenticated
    return async (req, res) => {
      const started = performance.now()
      const caller = callerOf(res)
      const decision = await authorizer.require(caller, 'messages', 'write')
      const authorizedIn = performance.now() - started
      const key = idempotencyKeyOf(req)
      const workspace = caller.workspace._id
      const sender = `workspace ${workspace}`
      const message = parseMessage(await readMessage(req, { timeoutMs: bodyTimeoutMs, budget, sender }))
      const text = JSON.stringify(message)
      const body = Buffer.from(text)
      const messageId =
        key === undefined ? randomUUIDv7() : derivedMessageId({ source: 'api', workspace, key, body })
      const deadline = performance.now() + ACCEPT_MS - authorizedIn
      const found = placeOfMessage(people, { workspace, message, messageId })
      // Mostly nothing is waited for.
      const place = found instanceof Promise ? await found : found
      if (decision.kind === 'some' && !decision.test(ruledView(message, place)))
        throw new Problem('forbidden')
      const channel = channels.known(workspace, message.extId)
      const accepted = { req, messageId, message, body, workspace, place, channelId: channel?._id, deadline }
      const isUnknown =
        channel === undefined ? isUnknownChannel(channels.find(workspace, message.extId)) : channel === null
      if (key === undefined) await accept(intake, accepted)
      else {
        const publish = () => accept(intake, accepted)
        const { replayed } = await idempotency.once({ workspace, key, body }, publish)
        if (replayed) res.set('idempotent-replayed', 'true')
      }
      res.setHeader('x-message-id', messageId)
      if (isUnknown !== false && (await isUnknown)) res.setHeader('parley-warning', 'unknown-channel')
      // As text it goes out in one write with the headers.
      res.setHeader('content-type', 'application/json; charset=utf-8')
      res.setHeader('content-length', body.length)
      res.end(text)
    }
  },
})

/**
 * The view that a rule on `messages` has of a message that is posted: where it goes, as in the message log, and what it says. Of
 * what else is in the body nothing, for it could be named like a field of the log.
 */
function ruledView(message: WebhookMessage, { thread }: Place): object {
  const { extId, user, answer, input } = message
  return { channel: extId, thread, source: 'api', extId, user, answer, input }
}

/** The submission, which is stored with a task in the end, where numbers are doubles. */
function submissionIn(body: unknown): unknown {
  return (body as Partial<WebhookMessage> | undefined | null)?.answer?.submit
}

/** Reads the bytes of a message, at once where they are there. Throws whatever `readBody` does. */
function readMessage(
  req: Request,
  options: { timeoutMs: number; budget: BodyBudget; sender: string },
): Buffer | Promise<Buffer> {
  requireJson(req)
  return readBody(req, { ...options, maxBytes: MAX_BYTES + MAX_AUDIO_WRITTEN, inflate: true })
}

/**
 * The message in a body: 1 MiB without its `audio`, which may have 16 MiB. Throws `body_too_large`,
 * `malformed_json`, `too_deep` and `validation_failed`.
 */
function parseMessage(bytes: Buffer): WebhookMessage {
  if (bytes.length > MAX_BYTES) requireAudioMakesIt(bytes)
  // Whatever numbers others are to be called with arrive as they were written.
  const body = parseBytes(bytes, { parse: parseExact })
  const fieldErrors = [...unstorable(body), ...roundedIn(submissionIn(body), '/answer/submit')]
  if (fieldErrors.length > 0) throw new Problem('validation_failed', { errors: fieldErrors })
  const message = validate(compiledMessage, body)
  if (Buffer.byteLength(message.audio ?? '') > MAX_AUDIO_BYTES) throw tooLarge()
  if (typeof message.sendAt === 'string') requireSendable(message, message.sendAt)
  return message
}

/** Refuses a time for a message without an answer: such a message is a person's, and is answered when it comes. */
function requireSendable({ answer }: WebhookMessage, sendAt: string): void {
  const refuse = (code: string, message: string) => {
    throw new Problem('validation_failed', { errors: [{ path: '/sendAt', code, message }] })
  }
  if (Date.parse(sendAt) > Date.now() + MAX_AHEAD_MS) refuse('too_big', 'is more than 30 days from now')
  const { message, functions, submit } = answer
  const hasResponse = Boolean(message) || (functions ?? []).length > 0 || Object.keys(submit ?? {}).length > 0
  if (!hasResponse) refuse('not_allowed', 'is for a message that has an answer')
}

function requireJson(req: Request): void {
  if (USUAL_TYPES.includes(req.headers['content-type'] ?? '')) return
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length']) > 0
  const charset = /;\s*charset="?([\w-]+)/i.exec(req.headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (hasBody && (!req.is(TYPE) || charset.toLowerCase() !== 'utf-8'))
    throw new Problem('unsupported_media_type', { detail: `Send ${TYPE}.` })
}

/** Before it is parsed: what else is large would cost memory and time. */
function requireAudioMakesIt(bytes: Buffer): void {
  const audio = audioSpan(bytes, MAX_BYTES)
  if (bytes.length - audio > MAX_BYTES || audio > MAX_AUDIO_WRITTEN) throw tooLarge()
}

function tooLarge(): Problem {
  return new Problem('body_too_large', { detail: 'A message may have 1 MiB, and its audio 16 MiB.' })
}

/** Looks up a channel that memory does not know while the message is published. Where that takes too long, nothing is said. */
function isUnknownChannel(found: ReturnType<Channels['find']>): Promise<boolean> {
  return withTimeout(LOOKUP_MS, found).then(
    (channel) => channel === undefined,
    () => false,
  )
}

function accept(intake: NativeIntake, accepted: Accepted): Promise<void> {
  const audio = largeAudioOf(accepted.message)
  if (audio !== undefined) return acceptWithAudio(intake, accepted, audio)
  return intake.publisher.publish(publicationOf(accepted), accepted.deadline)
}

async function acceptWithAudio(intake: NativeIntake, accepted: Accepted, audio: string): Promise<void> {
  const { messageId, message, workspace, deadline } = accepted
  const remainingMs = deadline - performance.now()
  const stored = await intake.audio.store({ message, audio, messageId, workspace, remainingMs })
  const body = Buffer.from(JSON.stringify(stored))
  await intake.publisher.publish(publicationOf({ ...accepted, body }), deadline)
}

function publicationOf(accepted: Accepted): MessagePublication {
  const { req, messageId, message, body, workspace, place, channelId } = accepted
  const provenance = {
    workspace,
    source: 'api',
    channelId,
    requestId: String(req.headers['x-request-id']),
    traceparent: traceparentOf(req.headers),
  } as const
  return messagePublication({ messageId, message, body, provenance, ...place })
}

function idempotencyKeyOf(req: Request): string | undefined {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key
  throw new Problem('validation_failed', {
    errors: [
      {
        path: '/Idempotency-Key',
        code: 'invalid_header',
        message: 'expected 1 to 255 visible ASCII characters',
      },
    ],
  })
}
