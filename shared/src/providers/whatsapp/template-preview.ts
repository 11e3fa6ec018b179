import { defined } from '../../defined.ts'
import type { JsonObject } from '../../json-object.ts'
import { own, textAt } from '../own.ts'
import type { TemplateDefinition, TemplatePreview } from '../templates.ts'
import { buttonsIn, componentOf, filled, headerFormat, objectsAt, typeIn } from './template-definition.ts'

/** A template filled with what a message gives; placeholders without a value stay as they are. */
export function previewOf(
  { components }: Pick<TemplateDefinition, 'components'>,
  object: JsonObject | undefined,
): TemplatePreview {
  const given = objectsAt(object, 'template', 'components')
  const cards = objectsAt(componentOf(components, 'carousel'), 'cards')
  const givenCards = objectsAt(componentOf(given, 'carousel'), 'cards')
  const shownCards = Array.from({ length: Math.max(cards.length, givenCards.length) }, (_, at) => {
    const card = givenCards.find((one, place) => Number(own(one, 'card_index') ?? place) === at)
    return partOf(objectsAt(cards[at] ?? cards[0], 'components'), objectsAt(card, 'components'))
  })
  const footer = textAt(componentOf(components, 'footer'), 'text')
  return {
    ...partOf(components, given),
    ...defined({ footer }),
    ...(shownCards.length > 0 && { cards: shownCards }),
  }
}

/** A template, or a card of one. */
function partOf(
  components: readonly unknown[],
  given: readonly JsonObject[],
): Omit<TemplatePreview, 'cards' | 'footer'> {
  const text = (type: string) =>
    filled(
      textAt(componentOf(components, type), 'text') ?? '',
      valuesOf(objectsAt(componentOf(given, type), 'parameters')),
    )
  const format = headerFormat(components)
  return {
    ...(format !== undefined && { header: headerOf(format, { text, given }) }),
    body: text('body'),
    buttons: buttonsIn(components).map((button, index) =>
      buttonOf(
        button,
        given.find((one) => typeIn(one) === 'button' && Number(own(one, 'index')) === index),
      ),
    ),
  }
}

function headerOf(
  format: string,
  { text, given }: { text(type: string): string; given: readonly JsonObject[] },
): NonNullable<TemplatePreview['header']> {
  if (format === 'text') return { type: 'text', text: text('header') }
  const [parameter] = objectsAt(componentOf(given, 'header'), 'parameters')
  const link = textAt(parameter, format, 'link')
  const name = textAt(parameter, format, 'filename') ?? textAt(parameter, format, 'name')
  return { type: format, ...defined({ link, text: name }) }
}

/** By name, or by position, which counts from 1. */
function valuesOf(parameters: readonly JsonObject[]): (name: string) => string | undefined {
  const values = new Map(
    parameters.map((one, at) => [textAt(one, 'parameter_name') ?? String(at + 1), shownOf(one)] as const),
  )
  return (name) => values.get(name)
}

const shownOf = (parameter: JsonObject): string =>
  textAt(parameter, 'text') ??
  textAt(parameter, 'currency', 'fallback_value') ??
  textAt(parameter, 'date_time', 'fallback_value') ??
  ''

function buttonOf(button: JsonObject, given: JsonObject | undefined): TemplatePreview['buttons'][number] {
  const type = typeIn(button)
  const [parameter] = objectsAt(given, 'parameters')
  const said = textAt(parameter, 'text') ?? textAt(parameter, 'coupon_code')
  const url = textAt(button, 'url')
  const value = url === undefined ? (said ?? textAt(button, 'phone_number')) : filled(url, () => said)
  return { type, text: textAt(button, 'text') ?? '', ...defined({ value }) }
}
