/** The fields without those that are undefined: `{ ...defined({ reason }) }` has no `reason` when there is none. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found: Partial<T> = {}
  // On the path of every message: a loop costs a tenth of entries that are filtered.
  for (const key in fields) if (fields[key] !== undefined) found[key] = fields[key]
  return found as { [K in keyof T]?: Exclude<T[K], undefined> }
}
