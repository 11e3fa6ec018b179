import type { Authorizer } from '@parley/shared/authorizer'
import type { SpecOrigins } from '../credentials/spec-origin.ts'
import type { DocumentSecrets } from '../secrets/seal-fields.ts'
import type { Database } from '../store/database.ts'
import type { IdCounter } from '../store/id-counter.ts'

/** What the document routes work with. */
export interface Dependencies {
  database: Database
  ids: IdCounter
  /** One write at a time to one document in this process. */
  writes: KeyedQueue
  authorizer: Authorizer
  secrets: DocumentSecrets
  /** Where the specs of actions lead. */
  specs: Pick<SpecOrigins, 'originOf'>
}

/** Runs tasks of the same name one after another, and tasks of different names concurrently. */
interface KeyedQueue {
  run<T>(name: string, task: () => Promise<T>): Promise<T>
}

/** Spares writers in one process from meeting each other in the database; correctness does not rest on it. */
export function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<unknown>>()
  return {
    run: (name, task) => {
      const result = (tails.get(name) ?? Promise.resolve()).then(task, task)
      tails.set(name, result)
      const forget = () => {
        if (tails.get(name) === result) tails.delete(name)
      }
      result.then(forget, forget)
      return result
    },
  }
}
