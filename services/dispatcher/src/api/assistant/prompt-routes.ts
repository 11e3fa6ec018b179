import type { TurnAgent } from '@parley/shared/agents'
import { defined } from '@parley/shared/defined'
import { jsonBody } from '@parley/shared/json-body'
import { safeInteger } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { MASK } from '@parley/shared/secret-names'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import type { ConversationItem } from '../../agents/model-client.ts'
import type { Toolbox } from '../../agents/toolbox.ts'
import { type Agents, agentTypeOf } from '../../agents/turns/agents.ts'
import { boundedData } from '../../agents/turns/conversation-items.ts'
import { modelRequest } from '../../agents/turns/model-request.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { readSubject, type SubjectSources } from './read-subject.ts'
import { idIn, requireDocument, withReadableActions } from './require-assistant.ts'

const MAX_BODY_BYTES = 16 * 1024
/** Shorter ones would be found in any text. */
const SHORTEST_SECRET = 4

/** For whom and what a prompt is asked. */
export const promptRequest = z.strictObject({
  thread: z.string().min(1).max(1_024).optional().describe('As for its next answer'),
  message: z.string().min(1).max(256).optional().describe('As for the last answer to it'),
  task: safeInteger.optional(),
})

type Needed = SubjectSources & {
  agents: Pick<Agents, 'loadAgent' | 'promptOf' | 'openToolbox' | 'readHistory' | 'readQuoted'>
}

/**
 * POST /rest/assistant/{id}/prompt: what a model is given, its secrets masked, for those who may read the assistant: for a
 * thread or a message with its person, channel, task and conversation, which take read on messages and tasks. Of its
 * tools those of actions that may be read.
 */
export function promptRoutes(needed: Needed): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/prompt')
    .post(jsonBody({ maxBytes: MAX_BODY_BYTES }), async (req, res) => {
      const caller = callerOf(res)
      const id = idIn(req.params.id)
      await requireDocument(needed, { caller, resource: 'assistant', id, access: 'read' })
      const asked = parse(promptRequest, req.body ?? {})
      const subject = await readSubject(needed, res, { ...asked, assistantId: id })
      const type: TurnAgent = agentTypeOf(subject.channel) ?? 'taskManager'
      const { channel, task, record } = subject
      const thread = record?.thread ?? ''
      const loaded = await needed.agents.loadAgent({ channel, type, thread, notBefore: Date.now(), task })
      if (loaded.kind === 'missing') throw new Problem('not_found', { detail: loaded.reason })
      const { agent, hidden } = await withReadableActions(needed, { caller, agent: loaded.agent })
      const shown = await shownRequest(needed.agents, {
        ...subject,
        agent,
        isPast: asked.message !== undefined,
      })
      const { notes, ...others } = shown
      const prompt = { ...others, notes: [...hidden, ...notes] }
      res.set('cache-control', 'no-store').json({ type, ...withoutSecrets(prompt, loaded.agent) })
    })
    .all(methodNotAllowed('POST'))
  return router
}

/** The request as it goes out; of a past message before its last answer. */
async function shownRequest(
  agents: Needed['agents'],
  subject: Omit<Parameters<typeof modelRequest>[1], 'record' | 'now'> & {
    record: MessageRecord | undefined
    isPast: boolean
  },
): Promise<Shown> {
  const { record, isPast, ...of } = subject
  const { agent, channel, message } = of
  const now = Date.now()
  if (record === undefined) {
    const toolbox = await agents.openToolbox({ agent, channel, message, messageId: '', thread: '' })
    const { system, data } = agents.promptOf({ agent, channel, message, now: new Date(now) })
    return { system, data, conversation: [], ...shownTools(toolbox) }
  }
  const turns = isPast ? record.turns?.slice(0, -1) : record.turns
  const past = { ...record, ...(turns && { turns }) }
  const { request, toolbox, data } = await modelRequest(agents, { ...of, record: past, now })
  const conversation = request.conversation.map(shownItem)
  return { system: request.system, data, conversation, ...shownTools(toolbox) }
}

interface Shown {
  system: string
  data: object
  conversation: object[]
  tools: object[]
  notes: readonly string[]
}

function shownItem(item: ConversationItem): object {
  if (item.role === 'data') return { role: 'data', data: jsonOrUndefined(item.json) }
  if (item.role === 'person') return { role: 'person', text: item.text, ...(item.image && { image: true }) }
  const calls = item.calls.map(({ id, tool, args, result }) => ({ id, tool, args, result }))
  return { role: 'assistant', text: item.text, calls }
}

function shownTools({ descriptions, notes = [], sourceOf }: Toolbox): Pick<Shown, 'tools' | 'notes'> {
  const tools = descriptions.map((one) => {
    const { action, name } = sourceOf(one.name) ?? {}
    return { ...one, ...defined({ action, of: action === undefined ? undefined : name }) }
  })
  return { tools, notes }
}

/** Masked are what lies under the name of a secret, and the secrets of the agent's configs wherever they stand. */
function withoutSecrets({ data, conversation, ...shown }: Shown, agent: Agent): object {
  const secrets = secretsOf(agent)
  const masked = (text: string) => secrets.reduce((all, secret) => all.replaceAll(secret, MASK), text)
  const plain = (value: unknown) =>
    mapTexts(
      mapSecrets(value, () => MASK, { reach: 'state' }),
      masked,
    )
  return {
    ...(mapTexts(shown, masked) as object),
    data: boundedData(plain(data) as object),
    conversation: plain(conversation),
  }
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
