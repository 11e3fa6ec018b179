const MAX_BYTES = 500
/** More of a provider's text is not looked at. */
const MAX_READ = 4_000
/** So much of the prompt at one place is a quotation. */
const QUOTATION = 12
/** So much of a key identifies it: providers mask the rest themselves. */
const KEY_PART = 6
const REMOVED = '[…]'

/** How the keys of providers begin. */
const KEY_BEGINNING = /^\W*(?:(?:sk|pk|rk|xai|gsk|key)-|AIza)/
const BETWEEN_WORDS = /([\s"',;]+)/

/**
 * A provider's text as it may be shown: 500 bytes at most, without anything of the keys, what looks like one, and
 * quotations of `prompt`.
 */
export function presentable(
  text: string,
  { key, prompt }: { key: string | readonly string[] | undefined; prompt: string[] },
): string {
  const keys = [key ?? []].flat()
  const read = text.slice(0, MAX_READ).toWellFormed()
  const withoutKeys = read
    .split(BETWEEN_WORDS)
    .map((word) => (isKeyLike(word) || keys.some((one) => containsPart(word, one)) ? REMOVED : word))
    .join('')
  return cut(withoutQuotations(withoutKeys, prompt).trim())
}

/** A key, whole or masked: `sk-…`, `AIza…`, `abcd****wxyz`. */
function isKeyLike(word: string): boolean {
  return KEY_BEGINNING.test(word) || word.includes('***')
}

function containsPart(word: string, key: string): boolean {
  if (key === '') return false
  if (key.length <= KEY_PART) return word.includes(key)
  for (let at = 0; at + KEY_PART <= key.length; at++)
    if (word.includes(key.slice(at, at + KEY_PART))) return true
  return false
}

/** Looks for each part of the text in the prompt, which may be a thousand times as long: once over the prompt. */
function withoutQuotations(text: string, prompt: string[]): string {
  const short = prompt.map((one) => one.trim()).filter((one) => one.length > 3 && one.length < QUOTATION)
  const rest = short.reduce((all, one) => all.replaceAll(one, REMOVED), text)
  const parts = new TextParts(rest)
  for (const one of prompt) parts.findIn(one)
  const quoted = new Set<number>()
  for (let at = 0; at + QUOTATION <= rest.length; at++)
    if (parts.isFound(rest.slice(at, at + QUOTATION)))
      for (let inside = 0; inside < QUOTATION; inside++) quoted.add(at + inside)
  const characters = Array.from({ length: rest.length }, (_, at) => (quoted.has(at) ? '\0' : rest.charAt(at)))
  return characters.join('').replaceAll(/\0+/g, REMOVED)
}

const HASH_FACTOR = 31
const HASHES = 2 ** 16
const FIRST_FACTOR = Array.from({ length: QUOTATION - 1 }).reduce<number>(
  (product) => Math.imul(product, HASH_FACTOR),
  1,
)

/**
 * The parts of a text as long as a quotation, found in other texts by a rolling hash (Rabin and Karp): only where the
 * hash is that of a part that is still looked for is the other text cut out and compared.
 */
class TextParts {
  readonly #remaining = new Set<string>()
  readonly #found = new Set<string>()
  readonly #hashes = new Uint16Array(HASHES)

  constructor(text: string) {
    for (let at = 0; at + QUOTATION <= text.length; at++) this.#remaining.add(text.slice(at, at + QUOTATION))
    for (const part of this.#remaining) this.#count(part, 1)
  }

  findIn(text: string): void {
    let hash = 0
    for (let at = 0; at < text.length; at++) {
      if (at >= QUOTATION) hash -= Math.imul(text.charCodeAt(at - QUOTATION), FIRST_FACTOR)
      hash = (Math.imul(hash, HASH_FACTOR) + text.charCodeAt(at)) | 0
      if (at >= QUOTATION - 1 && this.#hashes[slotOf(hash)] !== 0)
        this.#meet(text.slice(at + 1 - QUOTATION, at + 1))
    }
  }

  isFound(part: string): boolean {
    return this.#found.has(part)
  }

  #meet(part: string): void {
    if (!this.#remaining.delete(part)) return
    this.#count(part, -1)
    this.#found.add(part)
  }

  #count(part: string, change: 1 | -1): void {
    let hash = 0
    for (let at = 0; at < part.length; at++) hash = (Math.imul(hash, HASH_FACTOR) + part.charCodeAt(at)) | 0
    const slot = slotOf(hash)
    this.#hashes[slot] = (this.#hashes[slot] ?? 0) + change
  }
}

/** The lower half of a hash of few characters says little. */
const slotOf = (hash: number): number => (hash ^ (hash >>> 16)) & (HASHES - 1)

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_BYTES) return text
  // A character that is cut in the middle becomes a replacement character.
  return bytes
    .subarray(0, MAX_BYTES - 3)
    .toString()
    .replace(/\ufffd$/, '')
    .concat('…')
}
