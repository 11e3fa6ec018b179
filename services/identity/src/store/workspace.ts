import { unescapeKeys } from '@parley/shared/safe-keys'
import { Schema } from 'mongoose'

export interface Workspace {
  _id: number
  name: string
  /** A label, exactly as sent; several workspaces may bear the same. */
  namespace: string
  /** The DNS label that is this workspace's alone, for good. */
  slug: string
  host: string
  status: string
  context: Record<string, unknown>
  /** Counts changes that could remove its last admin. */
  adminChecks?: number
  createdAt: Date
  updatedAt: Date
}

const required = true

export const workspaceSchema = new Schema<Workspace>(
  {
    _id: { type: Number, required },
    name: String,
    namespace: String,
    slug: { type: String, required },
    host: { type: String, required },
    status: { type: String, required },
    context: { type: Schema.Types.Mixed, required },
    adminChecks: Number,
    createdAt: { type: Date, required },
    updatedAt: { type: Date, required },
  },
  { minimize: false, versionKey: false },
)
workspaceSchema.index({ slug: 1 }, { unique: true })

/** The workspace as callers see it. */
export function workspaceView(workspace: Workspace) {
  const { _id, name, namespace, host, status, createdAt, updatedAt, context } = workspace
  return { _id, name, namespace, host, status, createdAt, updatedAt, context: unescapeKeys(context) }
}
