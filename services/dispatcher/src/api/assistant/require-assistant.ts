import type { Authorizer } from '@parley/shared/authorizer'
import { pathsOf } from '@parley/shared/configuration-resources'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { idParameter } from '@parley/shared/openapi/path-id'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { activeTask } from '../../agents/active-task.ts'
import type { Agent } from '../../agents/agent.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'

interface Needed {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
}

/** The part that operations on an assistant, beside configuring it, are described by alike. */
export const ofAssistant = <N extends string>(name: N) => ({
  method: 'POST' as const,
  path: `/rest/assistant/{id}/${name}` as const,
  aliases: pathsOf('assistant')
    .slice(1)
    .map((alias) => `/rest/${alias}/{id}/${name}`),
  resource: 'assistant',
  tag: 'assistant',
  parameters: [idParameter('The `_id` of the assistant')],
  errors: ['not_found', 'invalid_id'] as const,
})

/**
 * A document of the caller's workspace that its role lets it read, as configuration has it. Throws `forbidden` where
 * none may be read or `access` is denied, `not_found`, and `unavailable`.
 */
export async function requireDocument(
  { authorizer, configuration }: Needed,
  asked: {
    caller: Caller
    resource: 'actions' | 'assistant' | 'channels' | 'tasks' | 'subscriptions'
    id: number
    access: 'read' | 'write'
  },
): Promise<JsonObject> {
  const { caller, resource, id, access } = asked
  const allowed = await authorizer.require(caller, resource, access)
  const readable = await authorizer.require(caller, resource, 'read')
  const path = `/internal/workspaces/${caller.workspace._id}/${resource}/${id}`
  const { data } = jsonObject.safeParse(await configuration.get(path))
  if (data === undefined) throw new Problem('not_found')
  if (!admits(readable, data)) throw new Problem('not_found')
  if (!admits(allowed, data)) throw new Problem('forbidden', { detail: `The role may not ${access} this.` })
  return data
}

/** True if a decision lets a document of configuration through. */
export function admits(decision: Decision, data: JsonObject): boolean {
  // Rules see what callers see, which is without it.
  const { version: _version, ...document } = data
  return allows(decision, document)
}

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

/** The agent with those of its actions that the caller's role lets it read, and which are hidden, in a sentence each. */
export async function withReadableActions(
  needed: Parameters<typeof readableActions>[0],
  { caller, agent }: { caller: Caller; agent: Agent },
): Promise<{ agent: Agent; hidden: string[] }> {
  const ids = agent.actions.map(({ _id }) => _id)
  const readable = await readableActions(needed, { caller, ids })
  return {
    agent: { ...agent, actions: agent.actions.filter(({ _id }) => readable.has(_id)) },
    hidden: ids.filter((id) => !readable.has(id)).map((id) => `The role may not read actions/${id}.`),
  }
}

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
