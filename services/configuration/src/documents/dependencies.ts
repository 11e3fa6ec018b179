import type { Authorizer } from '@parley/shared/authorizer'
import type { DocumentSecrets } from '../secrets/seal-fields.ts'
import type { SpecReader } from '../specs/spec-reader.ts'
import type { Database } from '../store/database.ts'
import type { IdCounter } from '../store/id-counter.ts'
import type { KeyedQueue } from '../store/keyed-queue.ts'

/** The dependencies of the document routes. */
export interface Dependencies {
  database: Database
  ids: IdCounter
  /** One write at a time to one document in this process. */
  writes: KeyedQueue
  authorizer: Authorizer
  secrets: DocumentSecrets
  specs: Pick<SpecReader, 'check' | 'originOf'>
}
