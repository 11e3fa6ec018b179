import { unescapeKeys } from '@parley/shared/safe-keys'

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
  /** Counts API tokens that were made, so that those made at once conflict. */
  tokensMade?: number
  createdAt: Date
  updatedAt: Date
}

/** The workspace as callers see it. */
export function workspaceView(workspace: Workspace) {
  const { _id, name, namespace, host, status, createdAt, updatedAt, context } = workspace
  return { _id, name, namespace, host, status, createdAt, updatedAt, context: unescapeKeys(context) }
}
