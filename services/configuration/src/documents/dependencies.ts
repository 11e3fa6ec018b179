import type { Authorizer } from '@parley/shared/authorizer'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { Database } from '../store/database.ts'
import type { IdCounter } from '../store/id-counter.ts'
import type { KeyedQueue } from '../store/keyed-queue.ts'

/** What the document routes work with. */
export interface Dependencies {
  database: Database
  ids: IdCounter
  /** One write at a time to one document in this process. */
  writes: KeyedQueue
  authorizer: Authorizer
  secrets: SecretBox
}
