import { CONFIGURATION_RESOURCES } from '@parley/shared/configuration-resources'
import { safeInteger } from '@parley/shared/json-object'
import { z } from 'zod'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { SpecReader } from '../specs/spec-reader.ts'
import type { Database } from '../store/database.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

export const finding = z.object({
  code: z.enum([
    'dangling_reference',
    'unreachable_step',
    'step_cycle',
    'bad_spec',
    'bad_handler',
    'unknown_agent',
    'incomplete_channel',
    'ending_soon',
    'unknown_setting',
    'shadowed',
    'credentials_withheld',
    'credentials_refused',
    'failing_server',
    'missing_tool',
    'failing_subscription',
    'full_subscription',
    'disabled_subscription',
    'user_information',
    'key_in_url',
    'not_checked',
  ]),
  resource: z.enum(CONFIGURATION_RESOURCES),
  _id: safeInteger,
  path: z.string().describe('Where in the document, as a JSON Pointer'),
  message: z.string(),
})

/** Something in one document that is not as it should be. */
export type Finding = z.infer<typeof finding>

/** Some documents of one resource, and what it takes to look around them. */
export interface Batch {
  database: Database
  workspace: number
  definition: ResourceDefinition
  documents: readonly ResourceDocument[]
  /** Of each document, by its id. */
  versions: ReadonlyMap<number, number>
  /** The database's condition for what of the resource the caller may read. */
  visible: Record<string, unknown>
  steps: StepGraph
  /** The document with its secrets opened. */
  opened(doc: ResourceDocument): ResourceDocument
  specs: Pick<SpecReader, 'check' | 'originOf'>
  /** The deadline, in terms of `performance.now()`; whatever is not checked by then is named as such. */
  until: number
}

/** How a workspace's steps follow each other. */
export interface StepGraph {
  /** The step after each step; null where it is the last. */
  next: ReadonlyMap<number, number | null>
  /** The steps that a workflow or another step leads to. */
  entered: ReadonlySet<number>
  /** Every cycle, from its lowest step, by that step. */
  cycles: ReadonlyMap<number, readonly number[]>
  /** There are more than 200,000 steps; what lies beyond is missing here. */
  cut: boolean
}
