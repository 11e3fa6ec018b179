import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { activeTask } from '../../agents/active-task.ts'
import type { IsFirstOfName } from '../../thread-log/first-of-name.ts'
import { admits } from './require-assistant.ts'

/**
 * The active task of a thread as configuration has it; null where there is none that the caller's role lets it read.
 * Rejects with `unavailable`.
 */
export async function readableTask(
  needed: {
    authorizer: Authorizer
    configuration: Pick<InternalClient, 'get'>
    isFirstOfName: IsFirstOfName
  },
  { caller, channel, thread }: { caller: Caller; channel: string | undefined; thread: string },
): Promise<JsonObject | null> {
  const readable = await needed.authorizer.decide(caller, 'tasks', 'read')
  if (readable.kind === 'none') return null
  const workspace = caller.workspace._id
  const { data } = jsonObject.safeParse(await activeTask(needed, { workspace, channel, thread }))
  return data !== undefined && admits(readable, data) ? data : null
}
