import type { ResourceName } from '@parley/shared/configuration-resources'
import type { Counters, Database } from './database.ts'

const LEAP = 10_000

export interface IdCounter {
  /** The next id; never the same twice, also across instances of the service. */
  next(workspace: number, resource: ResourceName): Promise<number>
  /** Moves the counter over `taken` and the ids right after it that are taken too (10,000 at most). */
  pass(workspace: number, resource: ResourceName, taken: number): Promise<void>
}

interface Waiting {
  resolve(id: number): void
  reject(error: unknown): void
}

/**
 * Counts in the database, outside any transaction. Requests that come while a count is under way share the
 * next one, so that a burst costs few writes. `w: 1` is enough: an id counts as given out only with its
 * document, and that is written with `majority`.
 */
export function createIdCounter(database: Pick<Database, 'counters' | 'documents'>): IdCounter {
  const queues = new Map<string, Waiting[]>()

  const drain = async (workspace: number, resource: ResourceName, queue: Waiting[]) => {
    while (queue.length > 0) {
      const batch = queue.splice(0)
      try {
        const last = await count(database.counters(), { workspace, resource }, batch.length)
        for (const [at, { resolve }] of batch.entries()) resolve(last - batch.length + 1 + at)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(`${resource}/${workspace}`)
  }

  return {
    next: (workspace, resource) =>
      new Promise((resolve, reject) => {
        const name = `${resource}/${workspace}`
        const queue = queues.get(name)
        if (queue !== undefined) return void queue.push({ resolve, reject })
        const started = [{ resolve, reject }]
        queues.set(name, started)
        void drain(workspace, resource, started)
      }),
    pass: async (workspace, resource, taken) => {
      const following = await database
        .documents(resource)
        .find({ _id: { $gt: { workspace, id: taken }, $lte: { workspace, id: taken + LEAP } } })
        .project<{ _id: { id: number } }>({ _id: 1 })
        .sort({ _id: 1 })
        .toArray()
      const gap = following.findIndex(({ _id }, at) => _id.id !== taken + 1 + at)
      const value = taken + (gap === -1 ? following.length : gap)
      await database
        .counters()
        .updateOne(
          { _id: { workspace, resource } },
          { $max: { value } },
          { upsert: true, writeConcern: { w: 1 } },
        )
    },
  }
}

async function count(
  counters: Counters,
  _id: { workspace: number; resource: ResourceName },
  by: number,
): Promise<number> {
  const counter = await counters.findOneAndUpdate(
    { _id },
    { $inc: { value: by } },
    { upsert: true, returnDocument: 'after', writeConcern: { w: 1 } },
  )
  if (counter === null) throw new Error('the counter did not come back')
  return counter.value
}
