import { z } from 'zod'
import { jsonObject } from './json-object.ts'

/** Where callers post messages: the contract's path, and the one that is named like all others. */
export const MESSAGE_PATHS = ['/api/hooks/whatsapp', '/rest/messages'] as const

const text = z.string().nullish()

/** The arguments of a function entry that sends a template, with texts for its body by position or by name. */
const templateArgs = (texts: z.ZodType) =>
  z.looseObject({ template: z.string(), language: z.string(), variables: texts.nullish() })
const byPosition = templateArgs(z.array(z.string()))
const byName = templateArgs(z.record(z.string(), z.string()))

// Not with `superRefine`: the function that it makes for each value retains values of long ago in memory.
const functionArgs = jsonObject.check((context) => {
  const args = context.value
  if (!Object.hasOwn(args, 'template') || !Object.hasOwn(args, 'language')) return
  const schema = Array.isArray(args.variables) ? byPosition : byName
  for (const { path, message } of schema.safeParse(args).error?.issues ?? []) {
    context.issues.push({ code: 'custom', input: args, path, message })
  }
})

const messageFunction = z.looseObject({
  name: text,
  args: functionArgs
    .nullish()
    .describe(
      'With `template` and `language` that template, with all that it takes; of `callback` what is said: `message`, `buttons`, `list`, media, `location`; else the arguments of an operation',
    ),
})

/** Each is a send of its own. */
export const MAX_FUNCTIONS = 50

const messageFunctions = z.array(messageFunction)

/**
 * A message as it is in the queues and in the store: the only definition of its shape. Nothing inside `user`,
 * `thread`, `answer` and the function entries is required; unknown fields are retained.
 */
export const acceptedMessage = messageWith(messageFunctions)

/** A message as it comes in at the webhook and from handlers: with 50 functions at most. */
export const webhookMessage = messageWith(messageFunctions.max(MAX_FUNCTIONS))

function messageWith<F extends z.ZodType>(functions: F) {
  return z.looseObject({
    extId: z.string(),
    user: z.looseObject({ name: text, phone: text, email: text, ctx: jsonObject.nullish() }),
    thread: z.looseObject({ extId: text, ctx: jsonObject.nullish() }),
    answer: z.looseObject({
      message: text,
      functions: functions.nullish(),
      submit: jsonObject.nullish(),
    }),
    input: text,
    audio: text,
  })
}

/** How many characters (UTF-16 code units) the ids of a message may have that callers choose. */
export const MAX_ID_CHARACTERS = 1_024

const id = z.string().max(MAX_ID_CHARACTERS)

/** The message as callers post it. What is in a queue already may have longer ids. */
export const postedMessage = webhookMessage.extend({
  extId: id,
  sendAt: z.iso
    .datetime({ offset: true })
    .nullish()
    .describe('When an answer is sent: up to 30 days from now; at once where that is past, or left out'),
  // Names the thread where there is no other name.
  user: webhookMessage.shape.user.extend({ phone: id.nullish() }),
  thread: webhookMessage.shape.thread.extend({ extId: id.nullish() }),
})

export type WebhookMessage = z.input<typeof webhookMessage>

/** The `type` on the broker: the message's schema and its version. */
export const MESSAGE_TYPE = 'message.received.v1'

/**
 * The thread a message belongs to: its own thread id, else the user's phone, else the message itself.
 */
export function threadOf(message: WebhookMessage, messageId: string): string {
  return message.thread.extId || message.user.phone || messageId
}
