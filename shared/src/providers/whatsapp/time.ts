const MAX_SECONDS = 8.64e12

/** Meta gives seconds since 1970, as text or as a number. */
export function timeOf(value: unknown): string | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || !(Math.abs(seconds) <= MAX_SECONDS)) return undefined
  return new Date(seconds * 1_000).toISOString()
}
