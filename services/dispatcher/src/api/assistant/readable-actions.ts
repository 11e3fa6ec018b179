import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { admits } from './require-assistant.ts'

/** Of these actions those that the caller's role lets it read, as configuration has them. Rejects with `unavailable`. */
export async function readableActions(
  { authorizer, configuration }: { authorizer: Authorizer; configuration: Pick<InternalClient, 'get'> },
  { caller, ids }: { caller: Caller; ids: readonly number[] },
): Promise<ReadonlySet<number>> {
  const readable = await authorizer.decide(caller, 'actions', 'read')
  if (readable.kind === 'all') return new Set(ids)
  if (readable.kind === 'none') return new Set()
  const found = await Promise.all(
    ids.map((id) => configuration.get(`/internal/workspaces/${caller.workspace._id}/actions/${id}`)),
  )
  const admitted = found.map((one) => {
    const { data } = jsonObject.safeParse(one)
    return data !== undefined && admits(readable, data)
  })
  return new Set(ids.filter((_, at) => admitted[at]))
}
