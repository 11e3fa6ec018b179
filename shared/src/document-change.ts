import { z } from 'zod'
import { jsonObject, safeInteger } from './json-object.ts'

/** The `type` of the event of a write. */
export const DOCUMENT_CHANGE_TYPE = 'configuration.changed.v1'

/** The event of one write to a document, as it goes over exchange `configuration`. */
export const documentChange = z.looseObject({
  resource: z.string(),
  workspace: safeInteger,
  _id: safeInteger,
  /** Counts the writes, deletions included: what is lower is older. */
  version: safeInteger,
  /** The document after the write; null once it is deleted. */
  document: jsonObject.nullable(),
  operation: z.enum(['created', 'updated', 'deleted']).optional(),
  /** Of a task: what it was before, where that is known. */
  before: z
    .looseObject({ status: z.string(), currentStep: z.unknown(), steps: z.array(z.string()) })
    .optional(),
  /** When it was written, ISO 8601. */
  at: z.iso.datetime().optional(),
  /** The account that wrote; `runtime` for what answers did to a task. */
  by: z.looseObject({ _id: safeInteger, username: z.string() }).optional(),
})

export type DocumentChange = z.output<typeof documentChange>
