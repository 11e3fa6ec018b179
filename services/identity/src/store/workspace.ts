import { jsonObject } from '@parley/shared/json-object'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { z } from 'zod'
import { id, times, timesExample } from '../schemas.ts'

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
  /** The same of teams. */
  teamsMade?: number
  createdAt: Date
  updatedAt: Date
}

/** The workspace as callers see it. */
export function workspaceView(workspace: Workspace) {
  const { _id, name, namespace, host, status, createdAt, updatedAt, context } = workspace
  return { _id, name, namespace, host, status, createdAt, updatedAt, context: unescapeKeys(context) }
}

/** The result of {@link workspaceView}. */
export const workspaceSchema = z
  .object({
    _id: id,
    name: z.string(),
    namespace: z.string().describe('A label, as it was sent; several workspaces may have the same'),
    host: z.string().describe('The address of the workspace alone'),
    status: z.string().describe('`active` after registration'),
    ...times,
    context: jsonObject,
  })
  .meta({ id: 'Workspace', description: 'Where the people and the configuration of one team are' })

export const workspaceExample = {
  _id: 1,
  name: 'acme',
  namespace: 'acme',
  host: 'acme.parley.localhost',
  status: 'active',
  ...timesExample,
  context: {},
}
