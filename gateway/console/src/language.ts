import { type Language, languageOf } from '@parley/shared/languages'
import { IntlMessageFormat } from 'intl-messageformat'
import type { ComponentChildren } from 'preact'

/** The texts of a language under the English ones that stand in the code. */
type Catalogue = Readonly<Record<string, string>>

const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<{ default: Catalogue }>> = {
  'pt-BR': () => import('./languages/pt-BR.json', { with: { type: 'json' } }),
  es: () => import('./languages/es.json', { with: { type: 'json' } }),
}
const CHOICE = 'parley.language'

let language: Language = 'en'
let catalogue: Catalogue = {}
const formats = new Map<string, IntlMessageFormat>()

/** What was chosen in this browser; undefined where it is the browser's own. */
export const chosenLanguage = (): string | undefined => storage()?.getItem(CHOICE) ?? undefined

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

/** Changes the language; an empty choice is the browser's own. */
export function chooseLanguage(choice: string): void {
  if (choice === '') storage()?.removeItem(CHOICE)
  else storage()?.setItem(CHOICE, choice)
  location.reload()
}

/** A text in the language of the viewer, by its English one: an ICU message, with what stands for its placeholders. */
export function t(message: string, values: Readonly<Record<string, string | number>> = {}): string {
  const text = translated(message)
  return /[{<']/.test(text) ? String(formatOf(text).format(values)) : text
}

type RichValue = ComponentChildren | ((text: ComponentChildren) => ComponentChildren)

/** The same with elements in it: as placeholders, or around a part of the text that is between tags. */
export function rich(message: string, values: Readonly<Record<string, RichValue>>): ComponentChildren {
  return formatOf(translated(message)).format(values as Record<string, string>) as ComponentChildren
}

/** A text that comes from elsewhere, where the catalogue has it; nothing in it is a placeholder. */
export const translated = (text: string): string => catalogue[text] ?? text

function formatOf(text: string): IntlMessageFormat {
  const format = formats.get(text) ?? new IntlMessageFormat(text, language)
  formats.set(text, format)
  return format
}

/** None where the code runs outside of a browser. */
const storage = (): Storage | undefined => globalThis.localStorage
