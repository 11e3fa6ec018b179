/** The most characters that one message, or one value of a person, thread or task, adds to a prompt. */
export const MAX_CHARACTERS = 16_000

const HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** A section of the system text; empty where none of its lines says anything. */
export function section(title: string, ...lines: string[]): string {
  const texts = lines.map((one) => one.trim()).filter((one) => one !== '')
  return texts.length === 0 ? '' : [`# ${title}`, ...texts].join('\n')
}

/** A named value on a line; empty where there is none. */
export const line = (name: string, text: string): string => (text.trim() === '' ? '' : `${name}: ${text}`)

/** The text, or its beginning and how much more there was. */
export function cutText(text: string, characters = MAX_CHARACTERS): string {
  if (text.length <= characters) return text
  const remaining = text.slice(0, characters).replace(HIGH_SURROGATE, '')
  return `${remaining}… (cut: ${text.length - remaining.length} more characters)`
}
