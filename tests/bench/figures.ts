/** Figures by their name, such as the processor time of each process. */
export type Figures = Record<string, number>

export const sum = (figures: Figures | readonly number[]) =>
  Object.values(figures).reduce((all, figure) => all + figure, 0)

/** What each has grown by. */
export function since(before: Figures, after: Figures): Figures {
  return mapValues(after, (figure, name) => figure - (before[name] ?? 0))
}

export function mapValues<K extends string, V, W>(
  record: Record<K, V>,
  map: (value: V, key: K) => W,
): Record<K, W> {
  const entries = (Object.entries(record) as [K, V][]).map(([key, value]) => [key, map(value, key)])
  return Object.fromEntries(entries)
}
