import { z } from 'zod'

const MAX_TEXT = 4_096

const id = z.string().min(1).max(256)
const name = { parameter_name: id.optional() }
const media = z
  .strictObject({ id: id.optional(), link: z.url({ protocol: /^https?$/ }).optional() })
  .refine(({ id, link }) => id !== undefined || link !== undefined, 'received undefined')
const document = media.safeExtend({ filename: id.optional(), caption: id.optional() })

const text = z.strictObject({ type: z.literal('text'), text: z.string().min(1).max(MAX_TEXT), ...name })
const header = z.discriminatedUnion('type', [
  text,
  z.strictObject({ type: z.literal('image'), image: media }),
  z.strictObject({ type: z.literal('video'), video: media }),
  z.strictObject({ type: z.literal('document'), document }),
  z.strictObject({
    type: z.literal('location'),
    location: z.strictObject({
      latitude: z.number(),
      longitude: z.number(),
      name: id.optional(),
      address: id.optional(),
    }),
  }),
  z.strictObject({ type: z.literal('product'), product: z.looseObject({ product_retailer_id: id }) }),
])
const body = z.discriminatedUnion('type', [
  text,
  z.strictObject({
    type: z.literal('currency'),
    currency: z.strictObject({ fallback_value: id, code: z.string().length(3), amount_1000: z.number() }),
    ...name,
  }),
  z.strictObject({
    type: z.literal('date_time'),
    date_time: z.looseObject({ fallback_value: id }),
    ...name,
  }),
])

const index = z.union([z.int().min(0).max(9), z.string().regex(/^\d$/)])
const buttonOf = <P extends z.ZodType>(subType: string, parameter: P) =>
  z.strictObject({
    type: z.literal('button'),
    sub_type: z.literal([subType, subType.toUpperCase()]),
    index,
    parameters: z.array(parameter).max(5).default([]),
  })
const ofAction = z.strictObject({ type: z.literal('action'), action: z.looseObject({}) })
const button = z.discriminatedUnion('sub_type', [
  buttonOf('url', text),
  buttonOf('quick_reply', z.strictObject({ type: z.literal('payload'), payload: id })),
  buttonOf('copy_code', z.strictObject({ type: z.literal('coupon_code'), coupon_code: id })),
  buttonOf('flow', ofAction),
  buttonOf('catalog', ofAction),
  buttonOf('mpm', ofAction),
])

const componentOf = <T extends string, P extends z.ZodType>(type: T, parameter: P) =>
  z.strictObject({ type: z.literal(type), parameters: z.array(parameter).max(100).default([]) })
const inCards = [componentOf('header', header), componentOf('body', body), button] as const
const component = z.discriminatedUnion('type', [
  ...inCards,
  componentOf(
    'limited_time_offer',
    z.strictObject({
      type: z.literal('limited_time_offer'),
      limited_time_offer: z.strictObject({ expiration_time_ms: z.number() }),
    }),
  ),
  z.strictObject({
    type: z.literal('carousel'),
    cards: z
      .array(
        z.strictObject({
          card_index: z.int().min(0).max(9),
          components: z.array(z.discriminatedUnion('type', inCards)).max(12),
        }),
      )
      .min(1)
      .max(10),
  }),
])

/** The components of a template, as they are sent. */
export const components = z.array(component).max(16).default([])
export type Components = z.output<typeof components>

interface Parameter {
  type: string
  text?: string
  parameter_name?: string | undefined
}

/** The parameters of the components of a type. */
export const parametersOf = (all: Components, type: string): Parameter[] =>
  all.flatMap((one) => (one.type === type && 'parameters' in one ? (one.parameters as Parameter[]) : []))
