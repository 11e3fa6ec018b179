import { type Dispatcher, Pool } from 'undici'

/**
 * A pool of connections for each origin, for as long as it has a connection or a request. undici's `Agent` keeps them so
 * too, but counts all connections of an origin whenever one of them closes.
 */
export class OriginPools {
  readonly #options: Pool.Options
  readonly #pools = new Map<string, Pool>()

  constructor(options: Pool.Options) {
    this.#options = options
  }

  /** Throws, or tells the handler, what `Dispatcher.dispatch` does. */
  dispatch(
    request: Dispatcher.DispatchOptions & { origin: string },
    handler: Dispatcher.DispatchHandler,
  ): void {
    const pool = this.#pools.get(request.origin) ?? this.#open(request.origin)
    pool.dispatch(request, handler)
  }

  /** Breaks off what is going on. */
  close(): void {
    for (const pool of this.#pools.values()) void pool.destroy()
    this.#pools.clear()
  }

  #open(origin: string): Pool {
    const pool = new Pool(origin, this.#options)
    let connected = 0
    const closeIfUnused = () => {
      if (connected > 0 || pool.stats.size > 0 || this.#pools.get(origin) !== pool) return
      this.#pools.delete(origin)
      void pool.close()
    }
    pool.on('connect', () => {
      connected++
    })
    pool.on('disconnect', () => {
      connected--
      closeIfUnused()
    })
    pool.on('connectionError', closeIfUnused)
    this.#pools.set(origin, pool)
    return pool
  }
}
