/** Shares one run of `work` between all who ask for the same key at the same time. */
export function createSingleFlight<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const flying = new Map<string, Promise<T>>()
  return (key, work) => {
    const known = flying.get(key)
    if (known !== undefined) return known
    const flight = work().finally(() => flying.delete(key))
    flying.set(key, flight)
    return flight
  }
}
