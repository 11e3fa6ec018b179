import { type Language, languageOf } from '@parley/shared/languages'
import { type Catalogue, createTextLookup } from '@parley/shared/text-patterns'
import { IntlMessageFormat } from 'intl-messageformat'
import type { ComponentChildren } from 'preact'

const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<{ default: Catalogue }>> = {
  'pt-BR': () => import('./languages/pt-BR.json', { with: { type: 'json' } }),
  es: () => import('./languages/es.json', { with: { type: 'json' } }),
}
const CHOICE = 'parley.language'

let language: Language = 'en'
let catalogue: Catalogue = {}
let lookup: ReturnType<typeof createTextLookup> | undefined
const formats = new Map<string, IntlMessageFormat>()

/** The language that the user of this browser has chosen last; undefined where it is the browser's own. */
const chosenLanguage = (): string | undefined => storage()?.getItem(CHOICE) ?? undefined

/** The language that everything here is in; it stays until the page is loaded again. */
export const currentLanguage = (): Language => language

/** Loads the chosen language, before any module that has texts: they may be read once. */
export async function loadLanguage(): Promise<void> {
  const preferred = languageOf([chosenLanguage() ?? [], navigator.languages].flat())
  if (preferred !== 'en') {
    try {
      catalogue = (await CATALOGUES[preferred]()).default
      language = preferred
    } catch {
      // The gateway can't be reached, or has a newer console: what there is says so in English.
    }
  }
  document.documentElement.lang = language
}

/**
 * Goes by what the user has chosen, null for the browser's own. The page is loaded again where this browser did not know that:
 * it asks before anybody has logged in.
 */
export function followLanguage(choice: string | null): void {
  const before = chosenLanguage()
  if (choice === null) storage()?.removeItem(CHOICE)
  else storage()?.setItem(CHOICE, choice)
  if (chosenLanguage() !== before && languageOf([choice ?? [], navigator.languages].flat()) !== language)
    location.reload()
}

/** A text in the language of the viewer, by its English one: an ICU message, with what stands for its placeholders. */
export function t(message: string, values: Readonly<Record<string, string | number>> = {}): string {
  const text = catalogue[message] ?? message
  return /[{<']/.test(text) ? String(formatOf(text).format(values)) : text
}

type RichValue = ComponentChildren | ((text: ComponentChildren) => ComponentChildren)

/** The same with elements in it: as placeholders, or around a part of the text that is between tags. */
export function rich(message: string, values: Readonly<Record<string, RichValue>>): ComponentChildren {
  return formatOf(catalogue[message] ?? message).format(values as Record<string, string>) as ComponentChildren
}

/** A text that comes from elsewhere, where the catalogue has it, with numbers in braces for what it is composed of. */
export function translated(text: string): string {
  lookup ??= createTextLookup(catalogue)
  return lookup(text) ?? text
}

function formatOf(text: string): IntlMessageFormat {
  const format = formats.get(text) ?? new IntlMessageFormat(text, language)
  formats.set(text, format)
  return format
}

/** None where the code runs outside of a browser. */
const storage = (): Storage | undefined => globalThis.localStorage
