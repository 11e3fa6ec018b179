const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPENING = [0x7b, 0x5b]
const CLOSING = [0x7d, 0x5d]
const SPACES = [0x20, 0x09, 0x0a, 0x0d]
const AUDIO = Buffer.from('audio')

/**
 * How many bytes the text of the top-level member `audio` takes in a JSON object, as it is written: the last one
 * where there are several, 0 where there is none. Nothing is parsed, so it is safe on any bytes.
 */
export function audioSpan(bytes: Buffer): number {
  let span = 0
  let depth = 0
  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at] as number
    if (byte !== QUOTE) {
      if (OPENING.includes(byte)) depth++
      else if (CLOSING.includes(byte)) depth--
      at++
      continue
    }
    const end = endOfText(bytes, at)
    const next = afterSpaces(bytes, end)
    const isName = depth === 1 && bytes[next] === COLON && bytes.subarray(at + 1, end - 1).equals(AUDIO)
    at = end
    if (!isName) continue
    const value = afterSpaces(bytes, next + 1)
    if (bytes[value] !== QUOTE) continue
    at = endOfText(bytes, value)
    span = at - value
  }
  return span
}

/** The place after the closing quote of the text that begins at `start`. */
function endOfText(bytes: Buffer, start: number): number {
  let quote = bytes.indexOf(QUOTE, start + 1)
  while (quote !== -1) {
    let backslashes = 0
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
    quote = bytes.indexOf(QUOTE, quote + 1)
  }
  return bytes.length
}

function afterSpaces(bytes: Buffer, start: number): number {
  let at = start
  while (SPACES.includes(bytes[at] ?? 0)) at++
  return at
}
