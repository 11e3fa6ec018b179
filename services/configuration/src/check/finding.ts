import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { StepGraph } from './step-graph.ts'

/** Something in one document that is not as it should be, and where (a JSON Pointer). */
export interface Finding {
  code:
    | 'dangling_reference'
    | 'unreachable_step'
    | 'step_cycle'
    | 'bad_spec'
    | 'bad_handler'
    | 'shadowed'
    | 'not_checked'
  resource: ResourceName
  _id: number
  path: string
  message: string
}

/** Some documents of one resource, and what it takes to look around them. */
export interface Batch {
  database: Database
  workspace: number
  definition: ResourceDefinition
  documents: readonly ResourceDocument[]
  steps: StepGraph
}
