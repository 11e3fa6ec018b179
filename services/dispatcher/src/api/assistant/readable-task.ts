import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { admits } from './require-assistant.ts'

/**
 * The active task of a thread as configuration has it; null where there is none that the caller's role lets it read.
 * Rejects with `unavailable`.
 */
export async function readableTask(
  { authorizer, configuration }: { authorizer: Authorizer; configuration: Pick<InternalClient, 'get'> },
  { caller, thread }: { caller: Caller; thread: string },
): Promise<JsonObject | null> {
  const readable = await authorizer.decide(caller, 'tasks', 'read')
  if (readable.kind === 'none') return null
  const path = `/internal/workspaces/${caller.workspace._id}/tasks?thread=${encodeURIComponent(thread)}`
  const { data } = jsonObject.safeParse(await configuration.get(path))
  return data !== undefined && admits(readable, data) ? data : null
}
