import { TURN_AGENTS } from '@parley/shared/agents'
import { defined } from '@parley/shared/defined'
import { safeInteger } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { MASK } from '@parley/shared/secret-names'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { AGENT_KINDS, kindOf } from '../../agents/kinds/kinds.ts'
import type { ConversationItem } from '../../agents/model-client.ts'
import type { Toolbox } from '../../agents/toolbox.ts'
import type { Agents } from '../../agents/turns/agents.ts'
import { boundedData } from '../../agents/turns/conversation-items.ts'
import { modelRequest } from '../../agents/turns/model-request.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { readSubject, type SubjectSources } from './read-subject.ts'
import { ofAssistant, requireDocument, withReadableActions } from './require-assistant.ts'

const MAX_BODY_BYTES = 16 * 1024
/** Shorter ones would be found in any text. */
const SHORTEST_SECRET = 4

const prompt = z
  .object({
    type: z.enum(TURN_AGENTS).describe('Of the agent that it is for'),
    system: z.string().describe('What those who configure the assistant have written'),
    data: z.looseObject({}).describe('Facts about person, thread and task, which the model is given as data'),
    conversation: z
      .array(z.looseObject({ role: z.enum(['person', 'assistant', 'data']) }))
      .describe(
        'As it is sent: what is too long is shortened, and the facts stand where the model reads them',
      ),
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        inputSchema: z.looseObject({}),
        action: z.number().int().optional().describe('Where it comes from; built-in tools are of none'),
        of: z.string().optional().describe('What it is called there'),
      }),
    ),
    notes: z.array(z.string()).describe('What is missing of the tools, and why'),
  })
  .meta({ id: 'Prompt', description: 'What a model is given' })

export type Prompting = SubjectSources & {
  agents: Pick<Agents, 'loadAgent' | 'promptOf' | 'openToolbox' | 'toolImages' | 'readHistory' | 'readQuoted'>
}

/** Its secrets masked, for those who may read the assistant. */
export const showPrompt = route({
  ...ofAssistant('prompt'),
  access: 'read',
  id: 'showPrompt',
  summary: 'Show the prompt of an assistant',
  description:
    'Secrets are masked. With `thread` or `message` it is for its person, channel, active task and conversation, with `task` for that task; these need read on messages and tasks too. Tools of actions that the role may not read are left out.',
  body: {
    schema: z
      .strictObject({
        thread: z.string().min(1).max(1_024).optional().describe('As for its next answer'),
        message: z.string().min(1).max(256).optional().describe('As for the last answer to it'),
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
      conversation: [],
      tools: [],
      notes: [],
    },
  },
  handle: (needed: Prompting) => async (req, res, asked) => {
    const caller = callerOf(res)
    const id = pathId(req.params)
    await requireDocument(needed, { caller, resource: 'assistant', id, access: 'read' })
    const about = asked.body()
    const subject = await readSubject(needed, res, { ...about, assistantId: id })
    const kind = kindOf(subject.channel) ?? AGENT_KINDS.taskManager
    const { channel, task, record } = subject
    const thread = record?.thread ?? ''
    const loaded = await needed.agents.loadAgent({ channel, kind, thread, notBefore: Date.now(), task })
    if (loaded.kind === 'missing') throw new Problem('not_found', { detail: loaded.reason })
    const { agent, hidden } = await withReadableActions(needed, { caller, agent: loaded.agent })
    const isPast = about.message !== undefined
    const { notes, ...shown } = await shownRequest(needed.agents, { ...subject, agent, isPast })
    const prompt = { ...shown, notes: [...hidden, ...notes] }
    res.set('cache-control', 'no-store').json({ type: kind.type, ...withoutSecrets(prompt, loaded.agent) })
  },
})

/** The request as it goes out; of a past message before its last answer. */
async function shownRequest(
  agents: Prompting['agents'],
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
