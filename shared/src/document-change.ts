import { z } from 'zod'
import { jsonObject, safeInteger } from './json-object.ts'

/** The news of one write to a document, as it goes over exchange `configuration`. */
export const documentChange = z.looseObject({
  resource: z.string(),
  workspace: safeInteger,
  _id: safeInteger,
  /** Counts the writes, deletions included: what is lower is older. */
  version: safeInteger,
  /** The document after the write; null once it is deleted. */
  document: jsonObject.nullable(),
})

export type DocumentChange = z.output<typeof documentChange>
