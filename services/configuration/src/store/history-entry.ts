import type { ResourceName } from '../resources/definition.ts'
import type { Authorship } from './stored-document.ts'

/** One place (a JSON Pointer) at which two states differ; a side that has nothing there is left out. */
export interface FieldChange {
  path: string
  before?: unknown
  after?: unknown
}

/** One version of one document: who made it, when, and what changed. */
export interface HistoryEntry extends Authorship {
  _id: { workspace: number; resource: ResourceName; id: number; version: number }
  /** Null where it isn't known; a change without its values where they are too large to be stored. */
  changes: FieldChange[] | null
}
