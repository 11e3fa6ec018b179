import { own } from '../own.ts'
import {
  anyObject,
  type Check,
  link,
  list,
  number,
  oneOf,
  shape,
  text,
  variant,
  wholeNumber,
} from './checks.ts'

export const MAX_TEXT = 32_768
export const MAX_CODE = 256
export const MAX_BUTTONS = 10
export const MAX_CARDS = 10
export const MAX_PARAMETERS = 100
export const MAX_COMPONENTS = 16
/** An id of Meta’s, or a name. */
export const id = text(MAX_CODE)

const media =
  (more: Readonly<Record<string, Check>> = {}): Check =>
  (value, path) => {
    const errors = shape({ 'id?': id, 'link?': link, 'provider?': anyObject, ...more })(value, path)
    const isFound = ['id', 'link'].some((key) => own(value, key) !== undefined)
    return errors.length > 0 || isFound ? errors : [{ path, message: 'has neither link nor id' }]
  }

/** Fields of a parameter of each type beside its type and name. */
const PARAMETERS = {
  text: { text: text(MAX_TEXT) },
  currency: {
    currency: shape({ fallback_value: text(MAX_CODE), code: text(3, 3), amount_1000: number }),
  },
  date_time: { date_time: anyObject },
  image: { image: media() },
  video: { video: media() },
  gif: { gif: media() },
  document: { document: media({ 'filename?': id, 'caption?': text(1_024) }) },
  location: {
    location: shape({ latitude: number, longitude: number, 'name?': id, 'address?': text(1_024) }),
  },
  product: { product: shape({ product_retailer_id: id, 'catalog_id?': id }) },
  payload: { payload: text(MAX_CODE) },
  coupon_code: { coupon_code: text(MAX_CODE) },
  action: { action: anyObject },
  ttl_minutes: { ttl_minutes: number },
  limited_time_offer: { limited_time_offer: shape({ expiration_time_ms: number }) },
  order_status: { order_status: anyObject },
} satisfies Record<string, Readonly<Record<string, Check>>>

type ParameterType = keyof typeof PARAMETERS

/** The types of the parameters that each part of a template takes. */
export const TEMPLATE_PARTS = {
  header: ['text', 'image', 'video', 'gif', 'document', 'location', 'product'],
  body: ['text', 'currency', 'date_time'],
  limited_time_offer: ['limited_time_offer'],
  order_status: ['order_status'],
} as const satisfies Record<string, readonly ParameterType[]>

/** Those of its buttons, by what they do. */
export const TEMPLATE_BUTTONS = {
  url: ['text'],
  quick_reply: ['payload'],
  copy_code: ['coupon_code'],
  flow: ['action'],
  catalog: ['action'],
  mpm: ['action'],
  voice_call: ['ttl_minutes', 'payload'],
  order_details: ['action'],
  booking_confirmation: ['action', 'payload', 'text'],
  reminder: ['action', 'payload', 'text'],
} as const satisfies Record<string, readonly ParameterType[]>

const parameter = (types: readonly ParameterType[]): Check =>
  variant(
    'type',
    Object.fromEntries(
      types.map((type) => [type, shape({ type: oneOf([type]), 'parameter_name?': id, ...PARAMETERS[type] })]),
    ),
  )

/** A parameter of a header. */
export const header = parameter(TEMPLATE_PARTS.header)
/** A parameter of a body. */
export const bodyParameter = parameter(TEMPLATE_PARTS.body)
/** The place of a button. */
export const index: Check = (value, path) =>
  wholeNumber(0, MAX_BUTTONS - 1)(
    typeof value === 'string' && /^\d$/.test(value) ? Number(value) : value,
    path,
  )
const parameters = (check: Check, most = MAX_PARAMETERS) => ({ 'parameters?': list(check, most) })

/** A button, as a component of its own. */
export const button: Check = variant(
  'sub_type',
  Object.fromEntries(
    Object.entries(TEMPLATE_BUTTONS).map(([name, types]) => [
      name,
      shape({ type: oneOf(['button']), sub_type: oneOf([name]), index, ...parameters(parameter(types), 5) }),
    ]),
  ),
)

/** The components that a card of a carousel takes. */
export const inCards = {
  header: shape({ type: oneOf(['header']), ...parameters(header, 1) }),
  body: shape({ type: oneOf(['body']), ...parameters(bodyParameter) }),
  button,
}
/** Any component, outside of a card. */
export const component = variant('type', {
  ...inCards,
  limited_time_offer: shape({
    type: oneOf(['limited_time_offer']),
    ...parameters(parameter(TEMPLATE_PARTS.limited_time_offer), 1),
  }),
  order_status: shape({
    type: oneOf(['order_status']),
    ...parameters(parameter(TEMPLATE_PARTS.order_status), 1),
  }),
  carousel: shape({
    type: oneOf(['carousel']),
    cards: list(
      shape({
        card_index: wholeNumber(0, MAX_CARDS - 1),
        components: list(variant('type', inCards), MAX_COMPONENTS),
      }),
      MAX_CARDS,
      1,
    ),
  }),
})
