const MARK = '\u0001raw:'
const MARKED = /"\\u0001raw:((?:[^"\\]|\\.)*)"/g

/** Stands in a value for JSON text that no JavaScript value is written as, such as `1e400`. */
export const raw = (text: string): string => MARK + text

/** A value as JSON, with the texts of {@link raw} in their places. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.replaceAll(MARKED, (_whole, escaped: string) => JSON.parse(`"${escaped}"`))
}
