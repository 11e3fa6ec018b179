import type { Purpose } from '../../consent.ts'
import type { JsonObject } from '../../json-object.ts'
import { own, textAt } from '../own.ts'
import type { TemplateDefinition, TemplateFit } from '../templates.ts'
import {
  buttonsIn,
  componentOf,
  headerFormat,
  isDynamic,
  objectsAt,
  placeholdersIn,
  typeIn,
} from './template-definition.ts'

const MAX_NAMED = 10
/** Statuses in which Meta does not send it yet; in one that is not known here it is tried. */
const UNAPPROVED = new Set(['PENDING', 'REJECTED', 'IN_APPEAL', 'LIMIT_EXCEEDED'])
const GONE = new Set(['DISABLED', 'DELETED', 'PENDING_DELETION'])

/** The purpose that a person consents to, by the category of a template. */
const PURPOSES: ReadonlyMap<string, Purpose> = new Map([
  ['MARKETING', 'marketing'],
  ['UTILITY', 'service'],
  ['AUTHENTICATION', 'service'],
])

/** Checks if Meta takes a message of a template, by the known definitions of the template in each language. */
export function fitOf(known: readonly TemplateDefinition[], object: JsonObject): TemplateFit {
  const language = textAt(object, 'template', 'language', 'code') ?? ''
  const definition = known.find((one) => one.language === language)
  if (definition === undefined) {
    const others = known.slice(0, MAX_NAMED).map((one) => one.language)
    const name = textAt(object, 'template', 'name') ?? ''
    const reason = `The template ${name} is not there in ${language}, but in ${others.join(', ')}.`
    return { kind: 'refused', code: 'template_language', fault: 'caller', reason }
  }
  const { name, status, category } = definition
  const said = `The template ${name} (${language})`
  if (status === 'PAUSED') return { kind: 'waits', reason: `${said} is paused because of its quality.` }
  if (GONE.has(status))
    return { kind: 'refused', code: 'template_disabled', fault: 'channel', reason: `${said} is ${status}.` }
  if (UNAPPROVED.has(status))
    return {
      ...{ kind: 'refused', code: 'template_not_approved', fault: 'channel' },
      reason: `${said} is not approved: it is ${status}.`,
    }
  const misfits = misfitsOf(definition, objectsAt(object, 'template', 'components'))
  if (misfits.length === 0) return { kind: 'fits', purpose: PURPOSES.get(category) }
  const reason = `${said} does not fit: ${misfits.slice(0, MAX_NAMED).join('; ')}.`
  return { kind: 'refused', code: 'template_mismatch', fault: 'caller', reason }
}

/** A template, or a card of one, and the components that a message gives. */
interface Compared {
  definition: Pick<TemplateDefinition, 'components' | 'parameterFormat'>
  given: readonly JsonObject[]
}

function misfitsOf(definition: Compared['definition'], given: readonly JsonObject[]): string[] {
  const compared = { definition, given }
  return [
    ...headerMisfits(compared),
    ...bodyMisfits(compared),
    ...buttonMisfits(compared),
    ...offerMisfits(compared),
    ...carouselMisfits(compared),
  ]
}

const parametersOf = ({ given }: Compared, type: string): JsonObject[] =>
  objectsAt(componentOf(given, type), 'parameters')

function headerMisfits(compared: Compared): string[] {
  const { components } = compared.definition
  const format = headerFormat(components)
  const parameters = parametersOf(compared, 'header')
  if (format === 'text')
    return textMisfits('header', textAt(componentOf(components, 'header'), 'text'), {
      ...{ parameters, definition: compared.definition },
    })
  const [first] = parameters
  if (format === undefined) return first === undefined ? [] : ['it has no header']
  const type = first && typeIn(first)
  if (type === format) return []
  return [`header needs ${withArticle(format)}, and has ${type === undefined ? 'none' : withArticle(type)}`]
}

const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

function bodyMisfits(compared: Compared): string[] {
  const { definition } = compared
  const text = textAt(componentOf(definition.components, 'body'), 'text')
  // Meta does not tell the text of a body of an authentication template before it is approved.
  if (text === undefined) return []
  return textMisfits('body', text, { definition, parameters: parametersOf(compared, 'body') })
}

/** The parameters of a text: by position so many, by name each of them. */
function textMisfits(
  part: string,
  text: string | undefined,
  { definition, parameters }: { definition: Compared['definition']; parameters: readonly JsonObject[] },
): string[] {
  const needed = placeholdersIn(text)
  const empty = parameters.flatMap((one, at) => {
    const name = textAt(one, 'parameter_name') ?? String(at + 1)
    return typeIn(one) === 'text' && textAt(one, 'text') === undefined ? [`${part} has an empty ${name}`] : []
  })
  if (!isNamed(definition, needed)) {
    const [least, most] = [needed.length, parameters.length]
    return least === most ? empty : [`${part} needs ${counted(least)}, and has ${most}`]
  }
  const names = parameters.map((one) => textAt(one, 'parameter_name'))
  const missing = needed.filter((name) => !names.includes(name))
  const unknown = names.filter((name) => name === undefined || !needed.includes(name))
  return [
    ...missing.map((name) => `${part} needs ${name}`),
    ...unknown.map((name) => `${part} has ${name ?? 'a parameter without a name'}, which is not in it`),
    ...empty,
  ]
}

const counted = (count: number): string => `${count} ${count === 1 ? 'parameter' : 'parameters'}`

function isNamed({ parameterFormat }: Compared['definition'], placeholders: readonly string[]): boolean {
  return parameterFormat?.toUpperCase() === 'NAMED' || placeholders.some((name) => !/^\d+$/.test(name))
}

/** The parameters of the buttons of each type that Meta refuses a message without. */
const NEEDS: Readonly<Record<string, string>> = { copy_code: 'a code', mpm: 'products' }
/** Types of the same button, by what a message calls it. */
const CALLED: Readonly<Record<string, string>> = { otp: 'url' }
const WITHOUT_PARAMETERS = ['phone_number', 'voice_call_permission']

function buttonMisfits({ definition, given }: Compared): string[] {
  const buttons = buttonsIn(definition.components)
  const misfits: string[] = []
  const found = new Map<number, JsonObject>()
  for (const one of given.filter((each) => typeIn(each) === 'button')) {
    const index = Number(own(one, 'index'))
    found.set(index, one)
    if (buttons[index] === undefined) misfits.push(`there is no button ${index}`)
  }
  buttons.forEach((button, index) => {
    misfits.push(...ofButton(button, found.get(index)).map((text) => `button ${index} ${text}`))
  })
  return misfits
}

function ofButton(button: JsonObject, given: JsonObject | undefined): string[] {
  const type = typeIn(button)
  const called = CALLED[type] ?? type
  const hasParameter = objectsAt(given, 'parameters').length > 0
  if (given !== undefined && typeIn(given, 'sub_type') !== called)
    return [`is ${withArticle(called)}, and no ${typeIn(given, 'sub_type')}`]
  if (WITHOUT_PARAMETERS.includes(type)) return hasParameter ? ['takes no parameter'] : []
  if (type === 'url' && !isDynamic(button)) return hasParameter ? ['has a URL without a parameter'] : []
  if (called === 'url') return hasParameter ? [] : ['needs the end of its URL']
  // Meta refuses the message with 131009 where the button of a form is not named, with or without a parameter.
  if (type === 'flow') return given === undefined ? ['needs to be there, as a flow'] : []
  const need = Object.hasOwn(NEEDS, type) ? NEEDS[type] : undefined
  return need === undefined || hasParameter ? [] : [`needs ${need}`]
}

function offerMisfits({ definition, given }: Compared): string[] {
  const offer = componentOf(definition.components, 'limited_time_offer')
  const parameters = objectsAt(componentOf(given, 'limited_time_offer'), 'parameters')
  if (offer === undefined) return parameters.length === 0 ? [] : ['it has no offer']
  const isNeeded = own(offer, 'limited_time_offer', 'has_expiration') === true
  return isNeeded && parameters.length === 0 ? ['the offer needs its end'] : []
}

function carouselMisfits({ definition, given }: Compared): string[] {
  const carousel = componentOf(definition.components, 'carousel')
  const cards = objectsAt(componentOf(given, 'carousel'), 'cards')
  if (carousel === undefined) return cards.length === 0 ? [] : ['it has no carousel']
  const defined = objectsAt(carousel, 'cards')
  const [first] = defined
  const isOfProducts = first !== undefined && headerFormat(objectsAt(first, 'components')) === 'product'
  // Cards of products have one form, of which a message may have several.
  if (!isOfProducts && cards.length !== defined.length)
    return [`the carousel needs ${defined.length} cards, and has ${cards.length}`]
  if (cards.length === 0) return ['the carousel needs cards']
  return cards.flatMap((card, at) => {
    const index = Number(own(card, 'card_index') ?? at)
    const form = isOfProducts ? first : defined[index]
    if (form === undefined) return [`there is no card ${index}`]
    const { parameterFormat } = definition
    const part = { components: objectsAt(form, 'components'), ...(parameterFormat && { parameterFormat }) }
    return misfitsOf(part, objectsAt(card, 'components')).map((text) => `card ${index}: ${text}`)
  })
}
