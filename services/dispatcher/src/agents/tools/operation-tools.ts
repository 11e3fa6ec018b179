import {
  BOUND_VALUE,
  type CallContext,
  type ConfiguredBinding,
  readBindings,
} from '@parley/shared/bound-value'
import type { WebhookMessage } from '@parley/shared/message'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Channel } from '../../channels/channels.ts'
import { CallError } from '../../channels/http/call-error.ts'
import { outcomeOfFailure } from '../../channels/http/call-outcome.ts'
import type { AccessTokens } from '../../functions/access-tokens.ts'
import { callSettingsIn } from '../../functions/call-settings.ts'
import {
  type ActionCredentials,
  CREDENTIALS_WITHHELD,
  reasonToWithholdCredentials,
  redacted,
} from '../../functions/credentials.ts'
import {
  channelFailure,
  type FailedOutcome,
  FileError,
  type ReadOperationCall,
  type ReadyOperation,
} from '../../functions/operation-call.ts'
import { leavesOpen } from '../../functions/repeatable.ts'
import { TokenError } from '../../functions/request-token.ts'
import { sendWithToken } from '../../functions/send-with-token.ts'
import type { SpecReader } from '../../functions/spec-reader.ts'
import type { ToolList } from '../../functions/tool-list.ts'
import { type AgentAction, credentialsIn } from '../agent.ts'
import type { AttemptLimits, OpenedTool, ServerInstructions, Tool, ToolOutcome } from '../toolbox.ts'
import { failed, resultOf, uncertain } from './tool.ts'

const MAX_LISTS = 1_000
/** Of the operations that a config chooses. */
const MAX_CHOSEN = 1_000
const MAX_CHOSEN_CHARACTERS = 256
const MAX_CHARACTERS = 32 * 1024 * 1024

/** Why a message is worked. */
export interface ToolContext {
  channel: Channel
  messageId: string
  message: WebhookMessage
  thread: string
  /** Servers are asked, whatever they said a moment ago. */
  isFresh?: boolean | undefined
}

/** The tools of one action. */
export interface ActionTools {
  tools: Tool[]
  /** Why there are none for now. */
  notes: string[]
  /** The parts of its spec or server that can't be used as tools, and why; undefined where that is not known. */
  missing?: string[]
  instructions?: ServerInstructions
  /** Ends what its calls had of a server. */
  close?(): void
}

/** The operations of an action's spec as tools. Rejects with `unavailable`. */
type OperationTools = (action: AgentAction, context: ToolContext) => Promise<ActionTools>

/** Reads each version of a spec once, as long as there is room. */
export function createOperationTools(options: {
  specs: Pick<SpecReader, 'ask'>
  readCall: ReadOperationCall
  tokens: AccessTokens
}): OperationTools {
  const { specs, readCall, tokens } = options
  const lists = new LRUCache<string, ToolList>({
    max: MAX_LISTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ tools }) => JSON.stringify(tools).length + 1,
  })
  const listOf = async (
    action: AgentAction,
    { workspace, configured }: { workspace: number; configured: ConfiguredBinding[] },
  ): Promise<ToolList | string> => {
    const key = keyOf(action, workspace)
    const operations = chosenIn(action.configs.values())
    const chosen =
      operations === undefined && configured.length === 0
        ? ''
        : ` ${JSON.stringify([operations, configured])}`
    const listKey = key + chosen
    const known = lists.get(listKey)
    if (known !== undefined) return known
    const answer = await specs.ask({
      kind: 'tools',
      key,
      workspace,
      spec: action.spec,
      operations,
      configured,
    })
    if (answer.kind === 'bad_spec') return answer.reason
    if (answer.kind !== 'tools') return 'takes too long to read'
    lists.set(listKey, answer)
    return answer
  }
  return async (action, context) => {
    const { workspace } = context.channel
    const configured = bindingsOf(action)
    if (typeof configured === 'string') return { tools: [], notes: [], missing: [configured] }
    const list = await listOf(action, { workspace, configured })
    if (typeof list === 'string') return { tools: [], notes: [`The spec of action ${action._id} ${list}.`] }
    const open = (operationId: string) => async (args: object) => {
      const called = { ...action, workspace, key: keyOf(action, workspace) }
      const operation = await readCall({
        ...{ ...context, action: called, operationId, args },
        binding: { configured, context: callContext(context) },
        signsContext: signsContext(action),
      })
      return 'kind' in operation
        ? openedFailure(operation)
        : openedCall(operation, { action: called, tokens })
    }
    return {
      tools: list.tools.map((tool) => ({ ...tool, open: open(tool.name) })),
      notes: [],
      missing: notesOf(list, `action ${action._id}`),
    }
  }
}

/** Returns the bindings in the configs of an action, or the reason why none of its tools can be given. */
export function bindingsOf({ _id, configs }: AgentAction): ConfiguredBinding[] | string {
  for (const value of configs.values()) {
    if (!Object.hasOwn(value, BOUND_VALUE)) continue
    const read = readBindings(value[BOUND_VALUE])
    if (Array.isArray(read)) return read
    return `The tools of action ${_id} are left out: in its config ${JSON.stringify(read.key)} ${read.reason}.`
  }
  return []
}

/** Whom a call is made for. */
export function callContext({ channel, message, thread }: ToolContext): CallContext {
  const { _id, extId, workspace } = channel
  const ofThread = { ...message.thread, extId: message.thread.extId || thread }
  return { person: message.user, thread: ofThread, channel: { _id, extId }, workspace: { _id: workspace } }
}

/** True if an action asks for the header that names the person whom a call is for. */
export const signsContext = ({ configs }: AgentAction): boolean =>
  configs.values().some(({ signedContext }) => signedContext === true)

const keyOf = ({ _id, version }: AgentAction, workspace: number): string => `${workspace}/${_id}/${version}`

const chosenOperations = z.object({
  operations: z.array(z.string().max(MAX_CHOSEN_CHARACTERS)).max(MAX_CHOSEN),
})

/** Which operations the configs of an action choose, by id or tag, or which tools of its MCP server; undefined for all. */
export function chosenIn(values: Iterable<unknown>): string[] | undefined {
  for (const value of values) {
    const { data } = chosenOperations.safeParse(value)
    if (data !== undefined) return data.operations
  }
  return undefined
}

/** Returns notes about the missing tools of an action or a server, and why they are missing. */
export function notesOf(
  { left, broken, brokenMore = 0, unknown = [], missing }: ToolList,
  owner: string,
): string[] {
  return [
    ...(missing === undefined ? [] : [`The tools of ${owner} are left out: none ${missing}.`]),
    ...unknown.map((name) => `No operation of ${owner} has the id or tag ${JSON.stringify(name)}.`),
    ...(left > 0 ? [`${left} more tools of ${owner} are left out: there are too many.`] : []),
    ...broken.map((reason) => `A tool of ${owner} is left out: it ${reason}.`),
    ...(brokenMore > 0 ? [`${brokenMore} more tools of ${owner} can't be worked with.`] : []),
  ]
}

function openedFailure(failure: FailedOutcome): OpenedTool {
  if (failure.code === 'bad_args') return { kind: 'invalid', reason: failure.reason }
  const { kind, reason } = failure
  return {
    kind: 'call',
    // It may have been called, and done, before this hindered it.
    isRepeatable: false,
    deliver: async () => (kind === 'permanent' ? failed(reason) : { kind: 'unreached', reason }),
  }
}

function openedCall(
  operation: ReadyOperation,
  { action, tokens }: { action: AgentAction & { workspace: number }; tokens: AccessTokens },
): OpenedTool {
  const credentials = operation.asksForCredentials ? credentialsIn(action) : undefined
  const withheld = reasonToWithholdCredentials(action._id, credentials, operation.url)
  if (withheld !== undefined) return openedFailure(channelFailure(CREDENTIALS_WITHHELD, withheld))
  const { isIdempotent, timeoutMs } = callSettingsIn(action.configs.values())
  const isRepeatable = operation.isRepeatable || isIdempotent
  const isKeyed = operation.isKeyed && !isIdempotent
  const call = { operation, action, tokens, credentials, isRepeatable, isKeyed, timeoutMs }
  return {
    kind: 'call',
    url: operation.url,
    isRepeatable,
    isKeyed,
    isReadOnly: operation.isReadOnly,
    timeoutMs,
    deliver: (id, limits) => delivered(call, id, limits),
  }
}

interface PlannedCall {
  operation: ReadyOperation
  action: { workspace: number; _id: number }
  tokens: AccessTokens
  credentials: ActionCredentials | undefined
  isRepeatable: boolean
  isKeyed: boolean
  timeoutMs: number
}

async function delivered(
  { operation, action, tokens, credentials, timeoutMs, ...repeated }: PlannedCall,
  id: string,
  { mayLeave, leftMs = timeoutMs }: AttemptLimits = {},
): Promise<ToolOutcome> {
  try {
    const { answer, secrets } = await sendWithToken(tokens, {
      ...{ operation, action, credentials, id, mayLeave },
      timeoutMs: Math.min(timeoutMs, leftMs),
    })
    const { status, body } = answer
    const text = body === '' ? `HTTP ${status} without a body.` : redacted(body, secrets)
    return (
      outcomeOfOpen(status, { text, repeated }) ?? {
        kind: 'answered',
        result: resultOf(isOk(status) ? 'done' : 'failed', text, status),
      }
    )
  } catch (error) {
    if (error instanceof TokenError) return withoutToken(error)
    return outcomeOfError(error, repeated)
  }
}

/** Nothing was called. */
function withoutToken({ message, isRefused }: TokenError): ToolOutcome {
  return isRefused ? failed(message) : { kind: 'unreached', reason: message }
}

const isOk = (status: number): boolean => status >= 200 && status < 300

type Repeated = Pick<PlannedCall, 'isRepeatable' | 'isKeyed'>

/**
 * The outcome of a call whose answer leaves open whether it was done: under its key it is made again, which a new call of
 * the model's would not be. Undefined where the model may decide.
 */
function outcomeOfOpen(
  status: number,
  { text, repeated }: { text: string; repeated: Repeated },
): ToolOutcome | undefined {
  if (!leavesOpen(status)) return undefined
  const reason = `It answered ${status}.`
  if (repeated.isKeyed) return { kind: 'unreached', reason, mayHaveRun: true }
  return repeated.isRepeatable ? undefined : uncertain(reason, { text, status })
}

function outcomeOfError(error: unknown, repeated: Repeated): ToolOutcome {
  if (error instanceof FileError)
    return error.isTransient ? { kind: 'unreached', reason: error.message } : failed(error.message)
  if (error instanceof CallError && error.status !== undefined) {
    const { status } = error
    const text = 'The answer is too large and was not read.'
    return (
      outcomeOfOpen(status, { text, repeated }) ?? {
        kind: 'answered',
        result: { ...resultOf(isOk(status) ? 'done' : 'failed', text, status), cut: true },
      }
    )
  }
  const failure = outcomeOfFailure(error)
  const { kind, reason } = failure
  if (kind === 'permanent') return failed(reason)
  if (kind !== 'uncertain') return { kind: 'unreached', reason }
  return repeated.isRepeatable
    ? { kind: 'unreached', reason, mayHaveRun: repeated.isKeyed }
    : uncertain(reason)
}
