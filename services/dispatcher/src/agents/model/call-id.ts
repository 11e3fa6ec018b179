const MAX_CHARACTERS = 64

/**
 * The id of a tool call as every provider takes it (`^[a-zA-Z0-9_-]{1,64}$`), another one where `taken` has it
 * already; `taken` gets it.
 */
export function uniqueCallId(id: string, taken: Set<string>): string {
  const plain = id.replaceAll(/[^\w-]/g, '_').slice(0, MAX_CHARACTERS) || 'call'
  let unique = plain
  for (let n = 2; taken.has(unique); n++) {
    const ending = `_${n}`
    unique = plain.slice(0, MAX_CHARACTERS - ending.length) + ending
  }
  taken.add(unique)
  return unique
}
