import { defined } from '../../defined.ts'
import type { JsonObject } from '../../json-object.ts'
import { textAt } from '../own.ts'
import type { TemplateParts } from '../templates.ts'
import {
  buttonsIn,
  componentOf,
  filled,
  headerFormat,
  isDynamic,
  placeholdersIn,
  typeIn,
} from './template-definition.ts'
import { fieldsOf } from './template-fields.ts'

const HANDLE = 'header.link'

/** The components of a template that is written as its parts; an example that is not filled in is left out. */
export function componentsOf({ header, body, footer, buttons, examples }: TemplateParts): JsonObject[] {
  return [
    ...(header === undefined ? [] : [headerComponent(header, examples)]),
    { type: 'BODY', text: body, ...exampleOf('body', body, examples) },
    ...(footer === '' ? [] : [{ type: 'FOOTER', text: footer }]),
    ...(buttons.length === 0
      ? []
      : [
          {
            type: 'BUTTONS',
            buttons: buttons.map((button, at) => buttonComponent(button, examples[`button.${at}`])),
          },
        ]),
  ]
}

type Examples = TemplateParts['examples']

function headerComponent(
  { type, text }: NonNullable<TemplateParts['header']>,
  examples: Examples,
): JsonObject {
  if (type === 'text') return { type: 'HEADER', format: 'TEXT', text, ...exampleOf('header', text, examples) }
  const handle = examples[HANDLE]
  return {
    ...{ type: 'HEADER', format: type.toUpperCase() },
    ...(handle && { example: { header_handle: [handle] } }),
  }
}

/** By name where the placeholders have names, else by position. */
function exampleOf(part: 'header' | 'body', text: string, examples: Examples): JsonObject {
  const names = placeholdersIn(text)
  const values = names.map((name) => examples[`${part}.${name}`] ?? '')
  if (names.length === 0 || values.includes('')) return {}
  if (isNamed(names)) {
    const named = names.map((name, at) => ({ param_name: name, example: values[at] }))
    return { example: { [`${part}_text_named_params`]: named } }
  }
  return { example: { [`${part}_text`]: part === 'body' ? [values] : values } }
}

const isNamed = (names: readonly string[]): boolean => names.some((name) => !/^\d+$/.test(name))

function buttonComponent({ type, text, value }: TemplateParts['buttons'][number], example = ''): JsonObject {
  switch (type) {
    case 'url':
      return {
        ...{ type: 'URL', text, url: value },
        ...(placeholdersIn(value).length > 0 &&
          example !== '' && { example: [filled(value, () => example)] }),
      }
    case 'phone_number':
      return { type: 'PHONE_NUMBER', text, phone_number: value }
    case 'copy_code':
      return { type: 'COPY_CODE', ...(example !== '' && { example }) }
    default:
      return { type: 'QUICK_REPLY', text }
  }
}

/** Returns the format of placeholders, named or positional, as the API takes it. */
export const parameterFormatOf = ({ header, body }: TemplateParts): 'NAMED' | 'POSITIONAL' =>
  isNamed([...placeholdersIn(header?.text), ...placeholdersIn(body)]) ? 'NAMED' : 'POSITIONAL'

const HEADERS = ['text', 'image', 'video', 'document', 'location'] as const
const BUTTONS = ['quick_reply', 'url', 'phone_number', 'copy_code'] as const

/** The parts of a template; undefined where its components say more than parts do. */
export function partsOf(components: readonly JsonObject[]): TemplateParts | undefined {
  const format = headerFormat(components)
  const type = HEADERS.find((one) => one === format)
  const header = componentOf(components, 'header')
  const examples = Object.fromEntries(
    fieldsOf({ components }).flatMap(({ key, example }) => (example === undefined ? [] : [[key, example]])),
  )
  const parts: TemplateParts = {
    ...(type !== undefined && { header: { type, text: textAt(header, 'text') ?? '' } }),
    body: textAt(componentOf(components, 'body'), 'text') ?? '',
    footer: textAt(componentOf(components, 'footer'), 'text') ?? '',
    buttons: buttonsIn(components).map((button) => ({
      type: BUTTONS.find((one) => one === typeIn(button)) ?? 'quick_reply',
      text: textAt(button, 'text') ?? '',
      value: textAt(button, 'url') ?? textAt(button, 'phone_number') ?? '',
    })),
    examples: { ...examples, ...defined({ [HANDLE]: handleOf(header) }), ...buttonExamples(components) },
  }
  return textOf(componentsOf(parts)) === textOf(components) ? parts : undefined
}

function handleOf(header: JsonObject | undefined): string | undefined {
  const example = header?.example as JsonObject | undefined
  const list = example?.header_handle
  const [handle]: unknown[] = Array.isArray(list) ? list : []
  return typeof handle === 'string' ? handle : undefined
}

/** Of an address what stands in the place of its placeholder. */
function buttonExamples(components: readonly JsonObject[]): Record<string, string> {
  return Object.fromEntries(
    buttonsIn(components).flatMap((button, at) => {
      const [whole]: unknown[] = Array.isArray(button.example) ? button.example : [button.example]
      if (typeof whole !== 'string') return []
      const start = filled(textAt(button, 'url') ?? '', () => '')
      const example = isDynamic(button) && whole.startsWith(start) ? whole.slice(start.length) : whole
      return [[`button.${at}`, example]]
    }),
  )
}

/** The same for the same, in whatever sequence their keys are. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )

/** The components of a template for codes: its text is Meta's. */
export const CODE_COMPONENTS: readonly JsonObject[] = [
  { type: 'BODY', add_security_recommendation: true },
  { type: 'FOOTER', code_expiration_minutes: 10 },
  { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'COPY_CODE', text: 'Copy the code' }] },
]
