const REBUILT_FROM = 1_024

/**
 * A map whose entries live for a moment, in the order that they were set in. A `Map` moves to a new table whenever
 * many were deleted, and each old table, which V8 lets refer to the next, retains what follows until a full
 * collection. Here a deleted key stays as an empty entry until the map is built anew.
 */
export class ChurnMap<K, V extends object> {
  #entries = new Map<K, V | undefined>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    if (this.#entries.get(key) === undefined) this.#size++
    this.#entries.set(key, value)
    if (this.#entries.size >= REBUILT_FROM && this.#entries.size > this.#size * 2) this.#rebuild()
  }

  delete(key: K): void {
    if (this.#entries.get(key) === undefined) return
    this.#size--
    this.#entries.set(key, undefined)
  }

  *values(): Generator<V> {
    for (const value of this.#entries.values()) if (value !== undefined) yield value
  }

  #rebuild(): void {
    const live = new Map<K, V | undefined>()
    for (const [key, value] of this.#entries) if (value !== undefined) live.set(key, value)
    this.#entries = live
  }
}
