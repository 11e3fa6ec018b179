const MAX_CHARACTERS = 64

/**
 * A name that every provider takes and that is not taken yet, as near to `given` as can be: letters, digits, `_` and
 * `-`, 64 at most, beginning with a letter or `_`. The same names in the same order come out the same.
 */
export function uniqueName(given: string, taken: { has(name: string): boolean }): string {
  const plain = given.replaceAll(/[^\w-]/g, '_')
  const name = (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, MAX_CHARACTERS)
  if (!taken.has(name)) return name
  for (let n = 2; ; n++) {
    const suffix = `_${n}`
    const next = name.slice(0, MAX_CHARACTERS - suffix.length) + suffix
    if (!taken.has(next)) return next
  }
}
