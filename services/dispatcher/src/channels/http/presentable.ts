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

/** Looks each part of the text up in the prompt, which may be much longer: once over the prompt. */
function withoutQuotations(text: string, prompt: string[]): string {
  const short = prompt.map((one) => one.trim()).filter((one) => one.length > 3 && one.length < QUOTATION)
  const rest = short.reduce((all, one) => all.replaceAll(one, REMOVED), text)
  const parts = new Set<string>()
  for (let at = 0; at + QUOTATION <= rest.length; at++) parts.add(rest.slice(at, at + QUOTATION))
  const found = new Set<string>()
  for (const one of prompt)
    for (let at = 0; at + QUOTATION <= one.length; at++) {
      const part = one.slice(at, at + QUOTATION)
      if (parts.has(part)) found.add(part)
    }
  const quoted = new Set<number>()
  for (let at = 0; at + QUOTATION <= rest.length; at++)
    if (found.has(rest.slice(at, at + QUOTATION)))
      for (let inside = 0; inside < QUOTATION; inside++) quoted.add(at + inside)
  const characters = Array.from({ length: rest.length }, (_, at) => (quoted.has(at) ? '\0' : rest.charAt(at)))
  return characters.join('').replaceAll(/\0+/g, REMOVED)
}

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
