import { randomUUIDv7 } from 'node:crypto'
import type { Idempotency } from '@parley/shared/idempotency'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import {
  derivedMessageId,
  messagePublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { Problem } from '@parley/shared/problem'
import type { Request } from 'express'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import { REPLY_SOURCE } from '../../message/message-record.ts'
import type { ThreadRecord } from '../../message/thread-record.ts'

const MAX_TEXT = 16 * 1024
const MAX_NAME = 512
const MAX_VARIABLES = 50
const MAX_OBJECT_BYTES = 64 * 1024
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** What the Cloud API sends; each has an object (contacts a list) under its own name. */
const WHATSAPP_TYPES = [
  'text',
  'image',
  'document',
  'video',
  'audio',
  'sticker',
  'location',
  'contacts',
  'interactive',
  'template',
  'reaction',
] as const

const whatsappObject = jsonObject.check((context) => {
  const object = context.value
  const refuse = (path: string[], message: string) => {
    context.issues.push({ code: 'custom', input: object, path, message })
  }
  const type = WHATSAPP_TYPES.find((one) => one === object.type)
  if (type === undefined) return refuse(['type'], `is one of ${WHATSAPP_TYPES.join(', ')}`)
  for (const key of Object.keys(object))
    if (!['type', 'context', type].includes(key))
      refuse([key], 'does not belong to a message object of that type')
  const content = object[type]
  const fits = type === 'contacts' ? Array.isArray(content) : jsonObject.safeParse(content).success
  if (!fits) refuse([type], type === 'contacts' ? 'expected a list' : 'expected an object')
  if (Buffer.byteLength(JSON.stringify(object)) > MAX_OBJECT_BYTES) refuse([], 'is larger than 64 KiB')
})

const text = z.string().min(1).max(MAX_TEXT)

/** What a person of the team replies: one of the three. */
export const replyRequest = z.union([
  z.strictObject({ text }).meta({ id: 'ReplyText' }),
  z
    .strictObject({
      template: z.string().min(1).max(MAX_NAME),
      variables: z.array(z.string().max(MAX_TEXT)).max(MAX_VARIABLES).optional(),
      language: z.string().min(1).max(MAX_NAME),
    })
    .meta({ id: 'ReplyTemplate' }),
  z
    .strictObject({
      whatsapp: whatsappObject.describe(
        "A message object of WhatsApp's Cloud API, without recipient: images, documents, buttons, lists, …",
      ),
    })
    .meta({ id: 'ReplyWhatsapp' }),
])

interface ReplyOptions {
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
  channels: Pick<Channels, 'find'>
}

/**
 * Publishes a reply as a message of the thread that carries its answer, so that it has the thread's order and all that
 * any message has. Resolves with its id once the broker has confirmed it: the same for the same key and body. Throws
 * `validation_failed`, `idempotency_key_reused`, `unavailable`.
 */
export async function publishReply(
  options: ReplyOptions,
  {
    req,
    caller,
    thread,
    reply,
  }: {
    req: Request
    caller: Caller
    thread: ThreadRecord
    reply: z.output<typeof replyRequest>
  },
): Promise<{ _id: string; replayed: boolean }> {
  const { publisher, idempotency, channels } = options
  const { workspace, channel, extId } = thread
  const key = keyOf(req)
  const found = await channels.find(workspace, channel)
  if ('whatsapp' in reply && found?.callback !== 'whatsapp') throw notWhatsapp()
  const message: WebhookMessage = {
    extId: channel,
    user: { ...thread.user },
    thread: { extId },
    answer: contentOf(reply),
    reply: { by: { _id: caller.account._id, name: caller.account.name } },
  }
  const body = Buffer.from(JSON.stringify(message))
  // Whoever repeats it may have been given another name meanwhile.
  const same = Buffer.from(JSON.stringify([channel, extId, caller.account._id, reply]))
  const _id =
    key === undefined
      ? randomUUIDv7()
      : derivedMessageId({ source: REPLY_SOURCE, workspace, key, body: same })
  const provenance = {
    workspace,
    source: REPLY_SOURCE,
    channelId: found?._id,
    requestId: String(req.headers['x-request-id']),
    traceparent: traceparentOf(req.headers),
  } as const
  const publish = () => publisher.publish(messagePublication({ messageId: _id, message, body, provenance }))
  if (key === undefined) await publish()
  else {
    const request = { workspace, key: `${REPLY_SOURCE} ${key}`, body: same }
    return { _id, ...(await idempotency.once(request, publish)) }
  }
  return { _id, replayed: false }
}

function contentOf(reply: z.output<typeof replyRequest>): WebhookMessage['answer'] {
  if ('text' in reply) return { message: reply.text }
  if ('whatsapp' in reply) return { functions: [{ name: 'whatsapp', args: { whatsapp: reply.whatsapp } }] }
  const { template, language, variables = [] } = reply
  return { functions: [{ args: { template, language, variables } }] }
}

function keyOf(req: Request): string | undefined {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key
  throw invalid('/Idempotency-Key', 'invalid_header', 'expected 1 to 255 visible ASCII characters')
}

const notWhatsapp = () => invalid('/whatsapp', 'not_whatsapp', 'the channel does not send through WhatsApp')

function invalid(path: string, code: string, message: string): Problem {
  return new Problem('validation_failed', { errors: [{ path, code, message }] })
}
