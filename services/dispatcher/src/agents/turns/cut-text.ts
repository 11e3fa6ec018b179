/** What one message, or one value of a person, thread or task, brings into a prompt at most. */
export const MAX_CHARACTERS = 16_000

const HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** The text, or its beginning and how much more there was. */
export function cutText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text
  const remaining = text.slice(0, MAX_CHARACTERS).replace(HIGH_SURROGATE, '')
  return `${remaining}… (cut: ${text.length - remaining.length} more characters)`
}

/** The value, or where its JSON text is too long that text, cut. */
export function cutValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? ''
  return json.length <= MAX_CHARACTERS ? value : cutText(json)
}
