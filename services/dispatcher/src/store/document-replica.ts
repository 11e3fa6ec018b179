/** The resources that the dispatcher works with. Configuration has the originals. */
export const REPLICATED_RESOURCES = ['channels', 'assistant', 'actions', 'jobs'] as const
export type ReplicatedResource = (typeof REPLICATED_RESOURCES)[number]

/** The dispatcher's own replica of a document. */
export interface DocumentReplica {
  /** `<resource>/<workspace>/<id>` */
  _id: string
  resource: ReplicatedResource
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
