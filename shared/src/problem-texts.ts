import Negotiator from 'negotiator'
import { type Language, languageOf } from './languages.ts'
import es from './problem-texts/es.json' with { type: 'json' }
import ptBR from './problem-texts/pt-BR.json' with { type: 'json' }

/** The texts of problems under the English ones, where a number in braces stands for what one of them is about. */
const CATALOGUES: Record<Exclude<Language, 'en'>, Readonly<Record<string, string>>> = { 'pt-BR': ptBR, es }
/** A longer text is a caller's or a provider's. */
const LONGEST = 500
const PLACEHOLDER = /\{(\d)\}/

/** The language that an `Accept-Language` asks for (RFC 9110, 12.5.4), by its weights; English without one. */
export function acceptedLanguage(header: string | undefined): Language {
  if (header === undefined) return 'en'
  return languageOf(new Negotiator({ headers: { 'accept-language': header } }).languages())
}

/** Looks texts up in one language, and notes whether all of them are there: what others said stays as it is. */
export function problemTexts(language: Language): { text(english: string): string; isWhole(): boolean } {
  let isWhole = true
  return {
    text(english) {
      if (language === 'en') return english
      const found = translate(english, language)
      isWhole &&= found !== undefined
      return found ?? english
    },
    isWhole: () => isWhole,
  }
}

function translate(english: string, language: Exclude<Language, 'en'>): string | undefined {
  const catalogue = CATALOGUES[language]
  if (Object.hasOwn(catalogue, english)) return catalogue[english]
  if (english.length > LONGEST) return undefined
  const inLanguage = (value: string) => catalogue[value] ?? value
  for (const [pattern, text] of patterns[language]) {
    const values = valuesIn(english, pattern)
    if (values !== undefined)
      return text.replaceAll(/\{(\d)\}/g, (_, at) => inLanguage(values[Number(at)] ?? ''))
  }
  return undefined
}

const patternsOf = (language: Exclude<Language, 'en'>): [string[], string][] =>
  Object.entries(CATALOGUES[language])
    .filter(([english]) => PLACEHOLDER.test(english))
    .map(([english, text]) => [english.split(/\{\d\}/), text] as [string[], string])
    // The one that says most comes first.
    .toSorted(([one], [other]) => other.join('').length - one.join('').length)
const patterns = { 'pt-BR': patternsOf('pt-BR'), es: patternsOf('es') }

/** What stands between the pieces of a pattern; undefined where the text is another one. */
function valuesIn(text: string, [first = '', ...others]: readonly string[]): string[] | undefined {
  if (!text.startsWith(first)) return undefined
  const values: string[] = []
  let at = first.length
  for (const [index, piece] of others.entries()) {
    const isLast = index === others.length - 1
    const end = isLast ? text.length - piece.length : text.indexOf(piece, at)
    if (end < at || (isLast && !text.endsWith(piece))) return undefined
    values.push(text.slice(at, end))
    at = end + piece.length
  }
  return values
}
