import type { JsonObject } from '../../json-object.ts'
import { isJsonObject, own, textAt } from '../own.ts'

const PLACEHOLDER = /\{\{\s*(\w{1,64})\s*\}\}/g

/** The names of the placeholders in a text, each once, in the order in which they come. */
export function placeholdersIn(text: string | undefined): string[] {
  return [...new Set([...(text ?? '').matchAll(PLACEHOLDER)].map(([, name = '']) => name))]
}

/** The text with its placeholders filled; one without a value stays as it is. */
export const filled = (text: string, valueFor: (name: string) => string | undefined): string =>
  text.replaceAll(PLACEHOLDER, (whole, name: string) => valueFor(name) ?? whole)

/** The component of a type, in whatever case it is written. */
export const componentOf = (components: readonly unknown[], type: string): JsonObject | undefined =>
  components.filter(isJsonObject).find((one) => typeIn(one) === type)

/** A type in lower case; empty where there is none. */
export const typeIn = (value: unknown, key = 'type'): string => (textAt(value, key) ?? '').toLowerCase()

/** The objects in a list; none where it is not there. */
export function objectsAt(value: unknown, ...keys: string[]): JsonObject[] {
  const found = own(value, ...keys)
  return Array.isArray(found) ? found.filter(isJsonObject) : []
}

/** The name and language of the template that a message object sends. */
export function namedIn(object: JsonObject): { name: string; language: string } | undefined {
  const name = textAt(object, 'template', 'name')
  const language = textAt(object, 'template', 'language', 'code')
  return name === undefined || language === undefined ? undefined : { name, language }
}

/** The format of a header: `text`, `image`, …; undefined where the template has none. */
export function headerFormat(components: readonly unknown[]): string | undefined {
  const header = componentOf(components, 'header')
  return header && (typeIn(header, 'format') || 'text')
}

/** The buttons of a template, or of a card of one, in order. */
export const buttonsIn = (components: readonly unknown[]): JsonObject[] =>
  objectsAt(componentOf(components, 'buttons'), 'buttons')

/** The URL of a button has a part that the message gives. */
export const isDynamic = (button: JsonObject): boolean => placeholdersIn(textAt(button, 'url')).length > 0

/** Returns the parameters that messages of a template take: header, names of parameters, buttons and cards. */
export function shapeOf({ components }: { components: readonly unknown[] }): string {
  const textOf = (type: string) => placeholdersIn(textAt(componentOf(components, type), 'text'))
  return JSON.stringify({
    header: [headerFormat(components), ...textOf('header')],
    body: textOf('body'),
    buttons: buttonsIn(components).map((button) => [typeIn(button), isDynamic(button)]),
    cards: objectsAt(componentOf(components, 'carousel'), 'cards').map((card) =>
      shapeOf({ components: objectsAt(card, 'components') }),
    ),
  })
}
