const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const AUDIO = Buffer.from('audio')

/**
 * How many bytes the text of the top-level member `audio` takes in a JSON object, as it is written: the last one
 * where there are several, 0 where there is none. Once more than `maxOutside` bytes lie outside it, no more are read. Nothing
 * is parsed, so it is safe on any bytes.
 */
export function audioSpan(bytes: Buffer, maxOutside: number): number {
  let span = 0
  let depth = 0
  let at = 0
  while (at < bytes.length && at - span <= maxOutside) {
    const byte = bytes[at] as number
    if (byte !== QUOTE) {
      if (byte === 0x7b || byte === 0x5b) depth++
      else if (byte === 0x7d || byte === 0x5d) depth--
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
  const quote = bytes.indexOf(QUOTE, start + 1)
  if (quote !== -1 && bytes[quote - 1] !== BACKSLASH) return quote + 1
  // Byte by byte: a search for each escaped quote costs more.
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return Math.min(at + 1, bytes.length)
}

function afterSpaces(bytes: Buffer, start: number): number {
  let at = start
  while (isSpace(bytes[at])) at++
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
