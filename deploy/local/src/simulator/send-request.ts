import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { CONTENTS } from './interactive-message.ts'
import { MetaError } from './meta-error.ts'
import type { NewSend } from './send-log.ts'
import { components, parametersOf } from './template-components.ts'

const MISSING_PARAMETER = 131008
const INVALID_PARAMETER = 131009
const MAX_TEXT = 4_096
const MAX_OPAQUE = 512
const PHONE = /^\+?[\d ().-]{5,30}$/

const template = z.looseObject({
  name: z.string().min(1).max(512),
  language: z.looseObject({ code: z.string().min(2).max(16) }),
  components,
})
const text = z.looseObject({ body: z.string().min(1).max(MAX_TEXT) })

const envelope = {
  messaging_product: z.literal('whatsapp'),
  recipient_type: z.enum(['individual', 'group']).optional(),
  to: z.string().min(1).max(512).optional(),
  /** The business-scoped id of a person whose number is not known. */
  recipient: z
    .string()
    .regex(/^[A-Z]{2}\.(ENT\.)?[A-Za-z\d]{1,128}$/, 'is not a user id')
    .optional(),
  biz_opaque_callback_data: z.string().max(MAX_OPAQUE).optional(),
  context: z.looseObject({ message_id: z.string().min(1).max(MAX_OPAQUE).startsWith('wamid.') }).optional(),
  message_send_ttl_seconds: z.int().min(30).max(2_592_000).optional(),
}
const otherType = (type: keyof typeof CONTENTS) =>
  z.looseObject({ ...envelope, type: z.literal(type), [type]: CONTENTS[type] })
const schema = z.discriminatedUnion('type', [
  z.looseObject({ ...envelope, type: z.literal('template'), template }),
  z.looseObject({ ...envelope, type: z.literal('text'), text }),
  ...(Object.keys(CONTENTS) as (keyof typeof CONTENTS)[]).map(otherType),
])

const receipt = z.looseObject({
  messaging_product: z.literal('whatsapp'),
  status: z.literal('read'),
  message_id: z.string().min(1).max(MAX_OPAQUE).startsWith('wamid.'),
  typing_indicator: z.looseObject({ type: z.literal('text') }).optional(),
})

/** A request that tells a person that their message was read, and maybe that somebody is typing. */
export interface ReadReceipt {
  messageId: string
  isTyping: boolean
}

/** Reads the body of a read receipt; undefined for that of a send. Throws Meta's error for what it would refuse. */
export function readReceipt(body: unknown): ReadReceipt | undefined {
  if (typeof body !== 'object' || body === null || !('status' in body)) return undefined
  const result = receipt.safeParse(body)
  if (!result.success) throw refusal(result.error.issues[0])
  const { message_id, typing_indicator } = result.data
  return { messageId: message_id, isTyping: typing_indicator !== undefined }
}

interface SendRequest {
  /** The recipient as it was sent. */
  input: string
  content: Omit<NewSend, 'phoneNumberId'>
}

/** Reads the body of a send. Throws Meta's error for what it would refuse. */
export function readSend(body: unknown): SendRequest {
  const result = schema.safeParse(body)
  if (!result.success) throw refusal(result.error.issues[0])
  const { data } = result
  const input = data.to ?? data.recipient
  if (input === undefined || (data.to !== undefined && data.recipient !== undefined)) {
    const details = 'One of to and recipient is required'
    throw new MetaError({
      status: 400,
      code: MISSING_PARAMETER,
      message: 'Required parameter is missing',
      details,
    })
  }
  const to = data.to === undefined ? input : readTo(data.to, data.recipient_type)
  const quoted = data.context?.message_id
  const recipient = { to, opaque: data.biz_opaque_callback_data ?? null, ...defined({ quoted }) }
  switch (data.type) {
    case 'text':
      return { input, content: { ...recipient, type: 'text', text: (data as TextSend).text.body } }
    case 'template':
      return { input, content: { ...recipient, ...templateIn((data as TemplateSend).template) } }
    default:
      return { input, content: { ...recipient, type: data.type, content: (data as JsonObject)[data.type] } }
  }
}

interface TextSend {
  text: z.output<typeof text>
}
interface TemplateSend {
  template: z.output<typeof template>
}

function templateIn({ name, language, components: all }: TemplateSend['template']) {
  const inBody = parametersOf(all, 'body')
  const isMore =
    all.some(({ type }) => type !== 'body') ||
    inBody.some((one) => one.parameter_name ?? one.text === undefined)
  return {
    ...{ type: 'template', template: name, language: language.code },
    variables: inBody.map((one) => one.text ?? ''),
    ...(isMore && { components: all }),
  }
}

/** The id of a group as it is, the digits of a number. */
function readTo(to: string, type: 'individual' | 'group' | undefined): string {
  if (type === 'group') return to
  if (PHONE.test(to)) return to.replaceAll(/\D/g, '')
  throw new MetaError({
    ...{ status: 400, code: INVALID_PARAMETER, message: 'Parameter value is not valid' },
    details: 'to: is not a phone number',
  })
}

function refusal(issue: z.core.$ZodIssue | undefined): MetaError {
  const where = issue?.path.join('.') ?? ''
  const details = `${where || 'The body'}: ${issue?.message ?? 'is not valid'}`
  if (where === '' || where === 'messaging_product') {
    return new MetaError({ status: 400, code: 100, message: 'Invalid parameter', details })
  }
  if (issue && isMissing(issue)) {
    const message = 'Required parameter is missing'
    return new MetaError({ status: 400, code: MISSING_PARAMETER, message, details })
  }
  return new MetaError({
    status: 400,
    code: INVALID_PARAMETER,
    message: 'Parameter value is not valid',
    details,
  })
}

/** Meta takes an empty text for a missing one. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'too_small') return true
  return issue.message.endsWith('received undefined')
}
