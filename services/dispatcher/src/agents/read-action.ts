import type { Replica } from '@parley/shared/config-replica/replica'
import { defined } from '@parley/shared/defined'
import { actionDocument, configDocument } from '@parley/shared/documents/assistant'
import type { JsonObject } from '@parley/shared/json-object'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'
import type { AgentAction } from './agent.ts'

const storedAction = actionDocument.stored.extend({
  version: z.number(),
  missing: z.object({ reasons: z.array(z.string()) }).optional(),
})

/** A config of an assistant or an action, as far as it is read. */
export const storedConfig = configDocument.stored
  .pick({ name: true, value: true })
  .extend({ origins: z.array(z.string()).optional() })

/** An action with its configs, secrets opened; undefined where it is not there. Rejects with `unavailable`. */
export type ReadAction = (
  action: { workspace: number; _id: number },
  /** A read before this time (milliseconds since the epoch) is too old, as long as configuration answers. */
  options?: { notBefore: number },
) => Promise<AgentAction | undefined>

export function createReadAction(options: {
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
}): ReadAction {
  const { replica, secrets } = options
  return async ({ workspace, _id: id }, needs) => {
    const [document] = await replica.find({ resource: 'actions', workspace, id }, needs)
    const { data: action } = storedAction.safeParse(document)
    if (action === undefined) return undefined
    const { _id, version, name, description, specType, moduleUrl, spec, missing } = openSecrets(
      action,
      secrets,
      workspace,
    )
    const owned = { resource: 'configs', workspace, owner: _id, ownerType: 'action' } as const
    const opened = openConfigs(await replica.find(owned, needs), { secrets, workspace })
    const marked = defined({ missing: missing?.reasons })
    return { _id, version, name, description, specType, moduleUrl, spec, ...marked, ...opened }
  }
}

/** By name; of several the first. */
export function openConfigs(
  configs: readonly unknown[],
  { secrets, workspace }: { secrets: Pick<SecretBox, 'open'>; workspace: number },
): { configs: Map<string, JsonObject>; origins: Map<string, readonly string[]> } {
  const opened = new Map<string, JsonObject>()
  const origins = new Map<string, readonly string[]>()
  for (const one of configs) {
    const { data } = storedConfig.safeParse(one)
    if (data === undefined || opened.has(data.name)) continue
    opened.set(data.name, openSecrets(data, secrets, workspace).value)
    if (data.origins !== undefined) origins.set(data.name, data.origins)
  }
  return { configs: opened, origins }
}
