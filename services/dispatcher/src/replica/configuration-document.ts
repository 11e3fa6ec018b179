import { createHash } from 'node:crypto'
import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { z } from 'zod'

/** The resources that the dispatcher works with. Configuration has the originals. */
export const CONFIGURED = ['channels', 'assistant', 'actions', 'jobs'] as const
export type ConfiguredResource = (typeof CONFIGURED)[number]

/** A document as configuration answers it, with its version. */
export const configuredDocument = jsonObject.pipe(
  z.custom<ConfiguredDocument>((value) => {
    const { _id, version } = value as Record<string, unknown>
    return safeInteger.safeParse(_id).success && safeInteger.safeParse(version).success
  }),
)

export interface ConfiguredDocument {
  _id: number
  version: number
  [field: string]: unknown
}

/** The dispatcher's own copy of a document. */
export interface DocumentCopy {
  /** `<resource>/<workspace>/<id>` */
  _id: string
  resource: ConfiguredResource
  workspace: number
  id: number
  version: number
  /** Of a channel. External ids may be long: an index takes their hash. */
  extIdHash?: string
  /** The document as JSON text, whatever its keys, its secrets sealed; not there once it is deleted. */
  document?: string
  /** When configuration was last asked for it, or for all channels of its external id. */
  readAt?: Date
  storedAt: Date
  /** When the trace of a deleted document goes. */
  expiresAt?: Date
}

export const hashOf = (extId: string): string => createHash('sha256').update(extId).digest('base64url')

/** The documents in copies that are not deleted. */
export function documentsIn(copies: DocumentCopy[]): ConfiguredDocument[] {
  return copies.flatMap(({ document, version }) =>
    document === undefined ? [] : { ...(parseJson(document) as ConfiguredDocument), version },
  )
}
