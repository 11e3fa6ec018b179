import Negotiator from 'negotiator'
import type { PendingResponse, ReceivedRequest } from './exchange.ts'
import { type Language, languageOf } from './languages.ts'
import es from './problem-texts/es.json' with { type: 'json' }
import ptBR from './problem-texts/pt-BR.json' with { type: 'json' }
import { createTextLookup } from './text-patterns.ts'

const LOOKUPS: Record<Exclude<Language, 'en'>, (english: string) => string | undefined> = {
  'pt-BR': createTextLookup(ptBR),
  es: createTextLookup(es),
}

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
      const found = LOOKUPS[language](english)
      isWhole &&= found !== undefined
      return found ?? english
    },
    isWhole: () => isWhole,
  }
}

/** Has `make` put texts into the language that is asked for, and says in the headers which that is. */
export function inAcceptedLanguage<T>(
  req: ReceivedRequest,
  res: PendingResponse,
  make: (text: (english: string) => string) => T,
): T {
  const language = acceptedLanguage(req.headers['accept-language'])
  const texts = problemTexts(language)
  const made = make(texts.text)
  res.setHeader('content-language', texts.isWhole() ? language : `${language}, en`)
  res.setHeader('vary', [res.getHeader('vary') ?? [], 'Accept-Language'].flat().join(', '))
  return made
}
