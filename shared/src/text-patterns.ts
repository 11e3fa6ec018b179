/** Texts of a language under the English ones, in which a number in braces stands for what one is composed of. */
export type Catalogue = Readonly<Record<string, string>>

/** A longer text is a caller's or a provider's. */
const LONGEST = 500
/** The parts of a composed text may be composed themselves. */
const DEEPEST = 3
const PLACEHOLDER = /\{\d\}/

/** Looks up texts that are composed in the code; undefined where the catalogue has no such. */
export function createTextLookup(catalogue: Catalogue): (english: string) => string | undefined {
  const patterns = Object.entries(catalogue)
    .filter(([english]) => PLACEHOLDER.test(english))
    .map(([english, text]) => ({ pieces: english.split(PLACEHOLDER), text }))
    // The one that says most comes first.
    .toSorted((one, other) => other.pieces.join('').length - one.pieces.join('').length)
  const find = (english: string, depth: number): string | undefined => {
    if (Object.hasOwn(catalogue, english)) return catalogue[english]
    if (english.length > LONGEST || depth === DEEPEST) return undefined
    for (const { pieces, text } of patterns) {
      const values = valuesIn(english, pieces)
      if (values === undefined) continue
      return text.replaceAll(/\{(\d)\}/g, (_, at) => {
        const value = values[Number(at)] ?? ''
        return find(value, depth + 1) ?? value
      })
    }
    return undefined
  }
  return (english) => find(english, 0)
}

/** Returns the texts between the pieces of a pattern; undefined where the text does not match. */
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
