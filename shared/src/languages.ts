/** The languages that texts for people are in, by their tags; the first is the one that the texts in the code are in. */
export const LANGUAGES = [
  { tag: 'en', name: 'English' },
  { tag: 'pt-BR', name: 'Português (Brasil)' },
  { tag: 'es', name: 'Español' },
] as const

export type Language = (typeof LANGUAGES)[number]['tag']

const primary = (tag: string): string => tag.toLowerCase().split('-', 1)[0] ?? ''

/** The language of the first tag that there is one for, whatever its region; English where there is none. */
export function languageOf(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const found = LANGUAGES.find((one) => primary(one.tag) === primary(tag))
    if (found !== undefined) return found.tag
  }
  return 'en'
}
