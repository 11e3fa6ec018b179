import { randomUUIDv7 } from 'node:crypto'
import type { Idempotency } from '@parley/shared/idempotency'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, jsonObject, pointerSegment } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import {
  derivedMessageId,
  messagePublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { Problem } from '@parley/shared/problem'
import { markedUp } from '@parley/shared/providers/marked-up'
import type { ObjectRules } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { allProviders, providerNamed } from '@parley/shared/providers/registry'
import type { Request } from 'express'
import { z } from 'zod'
import type { Channel, Channels } from '../../channels/channels.ts'
import { providerIdOf } from '../../conversations/quoted-messages.ts'
import { addressesOf } from '../../message/addresses.ts'
import { REPLY_SOURCE } from '../../message/message-record.ts'
import { contentsOf } from '../../message/said.ts'
import type { ThreadRecord } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'

const MAX_TEXT = 16 * 1024
const MAX_NAME = 512
const MAX_VARIABLES = 50
const MAX_OBJECT_BYTES = 64 * 1024
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** An object of a provider's own. */
const objectOf = ({ types, errorsOf }: ObjectRules) =>
  jsonObject.check((context) => {
    const object = context.value
    const refuse = (path: string[], message: string) => {
      context.issues.push({ code: 'custom', input: object, path, message })
    }
    if (!types.includes(String(object.type))) return refuse(['type'], `is one of ${types.join(', ')}`)
    for (const { path, message } of errorsOf(object)) refuse(path, message)
    if (Buffer.byteLength(JSON.stringify(object)) > MAX_OBJECT_BYTES) refuse([], 'is larger than 64 KiB')
  })

const text = z.string().min(1).max(MAX_TEXT)
const variable = z.string().max(MAX_TEXT)
/** Other parts that a template may take; the channel's provider decides if it understands them. */
const TEMPLATE_PARTS = {
  header: z.unknown().optional().describe('A text, an image, a video, a document or a place'),
  body: z.unknown().optional().describe('In the place of `variables`: parameters as the provider has them'),
  buttons: z.array(jsonObject).max(MAX_VARIABLES).optional().describe('What its buttons are given'),
  carousel: z.unknown().optional().describe('Its cards, each with header, body and buttons'),
  limitedTimeOffer: z.unknown().optional().describe('When the offer ends'),
  ttl: z.number().int().optional().describe('For how long it may be delivered, in seconds'),
  components: z
    .array(jsonObject)
    .max(MAX_VARIABLES)
    .optional()
    .describe('All of that as the provider has it'),
}

/** Returns the schema of a team's reply: a text, a template, or an object of a provider's own. */
export const replyRequest = () => z.union([...ownForms, ...allProviders().flatMap(objectReply)])

type OwnForm = { text: string; quoted?: string } & {
  template: string
  language: string
  variables?: string[] | Record<string, string>
}

/** A valid one, of any form. */
export type Reply = Partial<OwnForm> | ({ quoted?: string } & Record<string, JsonObject>)

const quoted = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .optional()
  .describe('What it replies to: the `_id` of an entry of the conversation')

const ownForms = [
  z.strictObject({ text, quoted }).meta({ id: 'ReplyText' }),
  z
    .strictObject({
      template: z.string().min(1).max(MAX_NAME),
      variables: z
        .union([z.array(variable).max(MAX_VARIABLES), z.record(z.string().max(MAX_NAME), variable)])
        .optional()
        .describe('Texts for its body: a list by position, or an object by name'),
      language: z.string().min(1).max(MAX_NAME),
      ...TEMPLATE_PARTS,
    })
    .meta({ id: 'ReplyTemplate' }),
] as const

function objectReply({ name, outbound: { objects } }: Provider) {
  if (objects === undefined) return []
  const id = `Reply${name.charAt(0).toUpperCase()}${name.slice(1)}`
  return z.strictObject({ [name]: objectOf(objects).describe(objects.description), quoted }).meta({ id })
}

interface ReplyOptions {
  collections: Pick<Collections, 'messages'>
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
    reply: Reply
  },
): Promise<{ _id: string; replayed: boolean }> {
  const { publisher, idempotency, channels } = options
  const { workspace, channel, extId } = thread
  const key = keyOf(req)
  const found = await channels.find(workspace, channel)
  const provider = objectProvider(reply)
  if (provider !== undefined && found?.callback !== provider.name) throw notThrough(provider)
  if ('template' in reply && found !== undefined) requireUnderstood(reply, found)
  const quoting =
    typeof reply.quoted === 'string' ? await quotingReply(options, { thread, reply, found }) : undefined
  const message: WebhookMessage = {
    extId: channel,
    user: personOf(thread),
    thread: { extId },
    answer: contentOf(quoting ?? reply),
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

/** The person, with the addresses that do not follow from the rest. */
function personOf({ user, addresses = [] }: ThreadRecord): WebhookMessage['user'] {
  const known = addressesOf(user)
  const others = addresses.filter((address) => !known.includes(address))
  return others.length === 0 ? { ...user } : { ...user, addresses: others }
}

/** The provider whose object a reply is. */
function objectProvider(reply: Reply): Provider | undefined {
  return Object.keys(reply)
    .map(providerNamed)
    .find((provider) => provider !== undefined)
}

function contentOf(reply: Reply): WebhookMessage['answer'] {
  const name = objectProvider(reply)?.name
  if (name !== undefined) return { functions: [{ name, args: reply as JsonObject }] }
  const { text, variables = [], ...template } = reply as Partial<OwnForm>
  return text === undefined ? { functions: [{ args: { ...template, variables } }] } : { message: text }
}

/** The object of the channel's provider that says the same as a reply to what is quoted. */
async function quotingReply(
  { collections }: Pick<ReplyOptions, 'collections'>,
  { thread, reply, found }: { thread: ThreadRecord; reply: Reply; found: Channel | undefined },
): Promise<Reply> {
  const provider = providerNamed(found?.callback)
  const objects = provider?.outbound.objects
  if (found === undefined || provider === undefined || objects === undefined)
    throw invalid('/quoted', 'not_quotable', 'is of a channel that quotes nothing')
  const providerId = await providerIdOf(collections, { thread, entry: String(reply.quoted) })
  if (providerId === undefined)
    throw invalid('/quoted', 'not_quotable', 'is nothing in this conversation that the provider can quote')
  return { [provider.name]: objects.quoting(objectToQuote(reply, found, provider), providerId) }
}

function objectToQuote(reply: Reply, channel: Channel, { name, outbound }: Provider): JsonObject {
  const object = (reply as Record<string, JsonObject>)[name]
  if (object !== undefined) return object
  const said = markedUp(String(reply.text), channel)
  const { maxText = MAX_TEXT } = outbound
  if (said.length > maxText)
    throw invalid(
      '/text',
      'too_long',
      `has more than the ${maxText} characters of one message, which one that quotes is`,
    )
  return outbound.objects?.ofText(said) ?? {}
}

/** Throws for what the channel's provider does not take of a template. */
function requireUnderstood(reply: Reply, channel: Channel): void {
  const said = contentsOf(reply, channel)
  if (said.kind !== 'refused') return
  const errors = said.errors.map(({ path, message }) => ({
    path: path.map((key) => `/${pointerSegment(key)}`).join(''),
    code: 'not_understood',
    message,
  }))
  throw new Problem('validation_failed', { errors })
}

function keyOf(req: Request): string | undefined {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key
  throw invalid('/Idempotency-Key', 'invalid_header', 'expected 1 to 255 visible ASCII characters')
}

const notThrough = ({ name, description: { label } }: Provider): Problem =>
  invalid(`/${name}`, `not_${name}`, `the channel does not send through ${label}`)

function invalid(path: string, code: string, message: string): Problem {
  return new Problem('validation_failed', { errors: [{ path, code, message }] })
}
