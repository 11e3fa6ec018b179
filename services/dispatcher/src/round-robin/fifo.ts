const COMPACT_FROM = 1_024

/** A first-in-first-out queue whose `take` costs the same at any length (`Array.shift` does not). */
export class Fifo<T> {
  #items: T[] = []
  #taken = 0

  get size(): number {
    return this.#items.length - this.#taken
  }

  push(item: T): void {
    this.#items.push(item)
  }

  take(): T | undefined {
    if (this.#taken === this.#items.length) {
      this.#items = []
      this.#taken = 0
      return undefined
    }
    const item = this.#items[this.#taken++]
    if (this.#taken >= COMPACT_FROM && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }
}
