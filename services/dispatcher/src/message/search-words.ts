import { phoneAddress } from './addresses.ts'

interface WordBounds {
  /** So much of a text is looked at, in UTF-16 code units. */
  characters: number
  words: number
}

const NAME: WordBounds = { characters: 512, words: 8 }
const MESSAGE: WordBounds = { characters: 8_192, words: 128 }
const MAX_WORD = 32
/** A shorter part of a number is in too many. */
const SHORTEST_PART = 4
/** ITU-T E.164. */
const MAX_DIGITS = 15

/** The words of a name, or of what is searched for, without case and accents; the first 8, of 32 characters at most. */
export const searchWords = (name: string): string[] => wordsIn(name, NAME)

/** The words of what was said in a message, in the same form: the first 128 of its first 8,192 characters. */
export const messageWords = (texts: readonly string[]): string[] => wordsIn(texts.join('\n'), MESSAGE)

function wordsIn(text: string, { characters, words }: WordBounds): string[] {
  const all = plain(text.slice(0, characters)).match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(all.map((word) => word.slice(0, MAX_WORD).toWellFormed()))].slice(0, words)
}

const ASCII = /^[ -~]*$/
const MARK = /\p{M}/gu

/** Without case and accents; most words are so at once. */
function plain(text: string): string {
  const whole = ASCII.test(text) ? text : text.normalize('NFKD').replaceAll(MARK, '')
  return whole.toLowerCase()
}

/**
 * The ends of the phone numbers among addresses, of 4 digits at least: each part of a number, of 4 digits at least, is
 * the beginning of one of them.
 */
export function phoneEnds(addresses: readonly string[]): string[] {
  const begin = phoneAddress('')
  const numbers = addresses.flatMap((one) => (one.startsWith(begin) ? one.slice(begin.length) : []))
  const ends = numbers.flatMap((number) => endsOf(number.slice(-MAX_DIGITS)))
  return [...new Set(ends)]
}

const endsOf = (digits: string): string[] =>
  Array.from({ length: Math.max(0, digits.length - SHORTEST_PART + 1) }, (_, at) => digits.slice(at))

/** True if digits are long enough to be looked for anywhere in a number; shorter ones match at its beginning only. */
export const isPartOfNumber = (digits: string): boolean => digits.length >= SHORTEST_PART

const EXCERPT = 160
const BEFORE = 50

/** Returns the text around the first match of the words, of which the last may be a prefix: at most 160 characters. */
export function excerptAround(text: string, words: readonly string[]): string {
  const line = text.slice(0, MESSAGE.characters).replaceAll(/\s+/g, ' ').trim()
  const found = line.matchAll(/[\p{L}\p{N}\p{M}]+/gu)
  const { index = 0 } = found.find(({ 0: word }) => isOneOf(plain(word), words)) ?? {}
  const gap = line.lastIndexOf(' ', Math.max(0, index - BEFORE))
  const begin = index <= BEFORE ? 0 : gap < 0 ? index : gap + 1
  const shown = line.slice(begin, begin + EXCERPT).toWellFormed()
  return `${begin > 0 ? '…' : ''}${shown}${begin + EXCERPT < line.length ? '…' : ''}`
}

const isOneOf = (word: string, words: readonly string[]): boolean =>
  words.some((one, at) => (at === words.length - 1 ? word.startsWith(one) : word === one))
