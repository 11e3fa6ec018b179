import { createHash } from 'node:crypto'
import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { DocumentReplica } from '../store/document-replica.ts'

/** A document as configuration answers it, with its version. */
export const configurationDocument = jsonObject.pipe(
  z.custom<ConfigurationDocument>((value) => {
    const { _id, version } = value as Record<string, unknown>
    return safeInteger.safeParse(_id).success && safeInteger.safeParse(version).success
  }),
)

export interface ConfigurationDocument {
  _id: number
  version: number
  [field: string]: unknown
}

export const hashOf = (extId: string): string => createHash('sha256').update(extId).digest('base64url')

/** The documents in replicas that are not deleted. */
export function documentsIn(replicas: DocumentReplica[]): ConfigurationDocument[] {
  return replicas.flatMap(({ document, version }) =>
    document === undefined ? [] : { ...(parseJson(document) as ConfigurationDocument), version },
  )
}
