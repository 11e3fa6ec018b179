import { TURN_AGENTS, type TurnAgent } from '@parley/shared/agents'
import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, safeInteger } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import type { WebhookMessage } from '@parley/shared/message'
import { pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { MASK } from '@parley/shared/secret-names'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { type AgentParts, agentTypeOf, assistantChannel } from '../../agents/turns/agents.ts'
import { boundedData } from '../../agents/turns/conversation-items.ts'
import type { Channel, Channels } from '../../channels/channels.ts'
import type { Collections } from '../../store/collections.ts'
import type { IsFirstOfName } from '../../thread-log/first-of-name.ts'
import { visibleTo } from '../messages/filter.ts'
import { ofAssistant, readableTask, requireDocument } from './require-assistant.ts'

const MAX_BODY_BYTES = 16 * 1024
const QUERY_MS = 5_000
/** Shorter ones would be found in any text. */
const SHORTEST_SECRET = 4

const prompt = z
  .object({
    type: z.enum(TURN_AGENTS).describe('Of the agent that it is for'),
    system: z.string().describe('What those who configure the assistant have written'),
    data: z.looseObject({}).describe('Facts about person, thread and task, which the model is given as data'),
  })
  .meta({ id: 'Prompt', description: 'What a model is given before the conversation' })

export interface Prompting {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  collections: Pick<Collections, 'messages'>
  channels: Pick<Channels, 'find'>
  isFirstOfName: IsFirstOfName
  agents: Pick<AgentParts, 'loadAgent' | 'promptOf'>
}

/** Its secrets masked, for those who may read the assistant. */
export const showPrompt = route({
  ...ofAssistant('prompt'),
  access: 'read',
  id: 'showPrompt',
  summary: 'Show the prompt of an assistant',
  description:
    'Secrets are masked. With `thread` it is for its person, channel and active task, with `task` for that task; these need read on messages and tasks too.',
  body: {
    schema: z
      .strictObject({
        thread: z.string().min(1).max(1_024).optional(),
        task: safeInteger.optional(),
      })
      .meta({ id: 'PromptBody' }),
    example: {},
    optional: true,
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: prompt,
    example: {
      type: 'taskManager',
      system: '# Who you are\nYou are Ana.',
      data: { user: {}, thread: { ctx: {} } },
    },
  },
  handle: (needed: Prompting) => async (req, res, asked) => {
    const caller = callerOf(res)
    const id = pathId(req.params)
    await requireDocument(needed, { caller, resource: 'assistant', id, access: 'read' })
    const { thread, task: taskId } = asked.body()
    const said = thread === undefined ? undefined : await lastMessage(needed, res, thread)
    if (thread !== undefined) await needed.authorizer.require(caller, 'tasks', 'read')
    const given = await taskGiven(needed, { caller, taskId, thread, name: said?.extId })
    const channel = await channelOf(needed, { caller, assistantId: id, name: said?.extId })
    const type: TurnAgent = agentTypeOf(channel) ?? 'taskManager'
    const loaded = await needed.agents.loadAgent({
      ...{ channel, type, thread: thread ?? '', notBefore: Date.now() },
      task: given,
    })
    if (loaded.kind === 'missing') throw new Problem('not_found', { detail: loaded.reason })
    const { agent } = loaded
    const message = said ?? { extId: '', user: {}, thread: {}, answer: {} }
    const prompt = needed.agents.promptOf({ agent, channel, message, now: new Date() })
    res.set('cache-control', 'no-store').json({ type, ...withoutSecrets(prompt, agent) })
  },
})

/** The latest message of a thread that the caller may read. Throws `not_found`. */
async function lastMessage(
  { collections: { messages }, authorizer }: Prompting,
  res: { locals: Record<string, unknown> },
  thread: string,
): Promise<WebhookMessage> {
  const filter = { $and: [await visibleTo(res, { authorizer, access: 'read' }), { thread }] }
  const [found] = await messages
    .find(filter, { projection: { body: 1 }, maxTimeMS: QUERY_MS })
    .sort({ receivedAt: -1, _id: -1 })
    .limit(1)
    .toArray()
  const message = found === undefined ? undefined : jsonOrUndefined(found.body)
  if (message === undefined) throw new Problem('not_found', { detail: 'There is no message of this thread.' })
  return message as WebhookMessage
}

/** The task that was asked for, else the thread's own where the caller may read it; null for none. */
function taskGiven(
  needed: Prompting,
  asked: {
    caller: Caller
    taskId: number | undefined
    thread: string | undefined
    /** The external id of the thread's channel. */
    name: string | undefined
  },
): Promise<JsonObject | null> | null {
  const { caller, taskId, thread, name: channel } = asked
  if (taskId === undefined)
    return thread === undefined ? null : readableTask(needed, { caller, channel, thread })
  return requireDocument(needed, { caller, resource: 'tasks', id: taskId, access: 'read' })
}

/** The thread's channel where it is answered by this assistant. */
async function channelOf(
  { channels }: Prompting,
  { caller, assistantId, name }: { caller: Caller; assistantId: number; name: string | undefined },
): Promise<Channel> {
  const workspace = caller.workspace._id
  const found = name === undefined ? undefined : await channels.find(workspace, name)
  return found?.config.assistantId === assistantId
    ? found
    : assistantChannel({ workspace, assistantId, type: 'taskManager' })
}

/** Masked are what lies under the name of a secret, and the secrets of the agent's configs wherever they stand. */
function withoutSecrets({ system, data }: { system: string; data: object }, agent: Agent): object {
  const secrets = secretsOf(agent)
  const masked = (text: string) => secrets.reduce((all, secret) => all.replaceAll(secret, MASK), text)
  const plain = mapTexts(
    mapSecrets(data, () => MASK, { reach: 'state' }),
    masked,
  )
  return { system: masked(system), data: boundedData(plain as object) }
}

function secretsOf({ configs, actions }: Agent): string[] {
  const found = new Set<string>()
  const all = [configs, ...actions.map((action) => action.configs)].flatMap((one) => [...one])
  for (const [name, value] of all)
    mapSecrets({ name, value }, (leaf) => {
      found.add(String(leaf))
      return leaf
    })
  return [...found].filter(({ length }) => length >= SHORTEST_SECRET)
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTexts(inner, map)]))
}
