import { defined } from '@parley/shared/defined'
import { checkBytes, roundedIn, unstorable } from '@parley/shared/json-body'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import type { Channel } from '../../channels/channels.ts'
import type { Signer } from '../../channels/signing.ts'
import type { AccessTokens } from '../../functions/access-tokens.ts'
import { approximate } from '../../functions/exact-schema.ts'
import type { ReadOperationCall } from '../../functions/operation-call.ts'
import type { SpecReader } from '../../functions/spec-reader.ts'
import { MAX_TOOLS } from '../../functions/tool-list.ts'
import type { ToolCall, ToolSource } from '../../message/turn.ts'
import type { Agent, AgentAction, ToolNeeds } from '../agent.ts'
import type { Tool, Toolbox } from '../toolbox.ts'
import { createMcpTools } from './mcp-tools.ts'
import { type ActionTools, createOperationTools, type ToolContext } from './operation-tools.ts'
import { withOwnNames, withPlainNames } from './property-names.ts'
import type { ReportMissing } from './report-missing.ts'
import type { ReportServer } from './report-server.ts'
import type { ToolImages } from './tool-images.ts'

const MAX_CHARACTERS = 64
const MAX_ARGS_BYTES = 256 * 1024
const MAX_NAMED = 50
const MAX_NOTES = 20
const MAX_SOURCE_NAME = 256

/** Makes the toolbox of an agent. Rejects with `unavailable`. */
export type OpenToolbox = (call: {
  agent: Agent
  channel: Channel
  messageId: string
  /** Of the message. */
  thread: string
  message: WebhookMessage
  /** Servers are asked, whatever they said a moment ago. */
  isFresh?: boolean
}) => Promise<Toolbox>

/**
 * Makes toolboxes of the built-in tools of an agent's kind, of the operations of its actions, and of their MCP
 * servers. `fetch` refuses private targets; `listedForMs` is how long a server's list is worked with.
 */
export function createOpenToolbox(
  options: ToolNeeds & {
    specs: Pick<SpecReader, 'ask'>
    readCall: ReadOperationCall
    signer: Signer
    fetch: typeof fetch
    toolImages: Pick<ToolImages, 'put'>
    tokens: AccessTokens
    report: ReportServer
    reportMissing: ReportMissing
    listMs?: number
    listedForMs?: number
  },
): OpenToolbox {
  const { reportMissing } = options
  const operationTools = createOperationTools(options)
  const mcpTools = createMcpTools(options)
  const toolsOf = (action: AgentAction, context: ToolContext): Promise<ActionTools> | ActionTools => {
    if (action.specType === 'openapi3-yaml') return operationTools(action, context)
    if (action.specType === 'mcp') return mcpTools(action, context)
    return { tools: [], notes: [`Action ${action._id} is of an unknown type, ${quoted(action.specType)}.`] }
  }
  return async (context) => {
    const { agent } = context
    if (agent.kind.tools === undefined) return toolboxOf([], [])
    const ofActions = await Promise.all(
      agent.actions.map(async (action) => {
        const made = await toolsOf(action, context)
        if (made.missing !== undefined) reportMissing({ ...action, workspace: agent.workspace }, made.missing)
        return made
      }),
    )
    const own = agent.kind.tools(options, context).map(refusingRounded)
    const ofAll = ofActions.flatMap(({ tools }, position): SourcedTool[] => {
      const action = agent.actions[position]?._id
      return tools.map((tool) => ({ tool, source: sourceOf(tool, action) }))
    })
    const ownSourced = own.map((tool): SourcedTool => ({ tool, source: sourceOf(tool) }))
    const toolbox = toolboxOf(
      [...ownSourced, ...ofAll],
      ofActions.flatMap(({ notes, missing = [] }) => [...notes, ...missing]),
    )
    return {
      ...toolbox,
      instructions: ofActions.flatMap(({ instructions }) => instructions ?? []),
      close: () => {
        for (const { close } of ofActions) close?.()
      },
    }
  }
}

/** Refuses numbers that lose digits: the arguments of built-in tools are stored, where numbers are doubles. */
function refusingRounded(tool: Tool): Tool {
  const open: Tool['open'] = (args) => {
    const [rounded] = roundedIn(args)
    if (rounded === undefined) return tool.open(approximate(args))
    return { kind: 'invalid', reason: `The argument ${rounded.path} ${rounded.message}.` }
  }
  return { ...tool, open }
}

interface SourcedTool {
  tool: Tool
  source: ToolSource | undefined
}

/** A longer name would be a large part of a turn, so its tool is found by the shown name. */
function sourceOf({ name }: Tool, action?: number): ToolSource | undefined {
  return name.length > MAX_SOURCE_NAME ? undefined : { name, ...defined({ action }) }
}

/** The first 128 of the tools, each under a name of its own. */
function toolboxOf(tools: readonly SourcedTool[], given: readonly string[]): Toolbox {
  const named = new Map<string, SourcedTool>()
  for (const one of tools.slice(0, MAX_TOOLS)) named.set(uniqueName(one.tool.name, named), one)
  const left = tools.length - named.size
  const all =
    left > 0 ? [`${left} more tools are left out: at most ${MAX_TOOLS} are given.`, ...given] : given
  const notes = all.length > MAX_NOTES ? [...all.slice(0, MAX_NOTES - 1), moreNotes(all)] : all
  return {
    descriptions: [...named].map(
      ([
        name,
        {
          tool: { description, inputSchema },
        },
      ]) => ({
        name,
        description,
        inputSchema: withPlainNames(inputSchema),
      }),
    ),
    notes,
    sourceOf: (name) => named.get(name)?.source,
    async open(call) {
      const found = call.of === undefined ? named.get(call.tool) : toolOf(named, call.of)
      if (found === undefined) return { kind: 'invalid', reason: unknownTool(call, [...named.keys()], notes) }
      const args = readArgs(call.args)
      if (typeof args === 'string') return { kind: 'invalid', reason: args }
      return found.tool.open(withOwnNames(found.tool.inputSchema, args) as JsonObject)
    },
  }
}

const moreNotes = (all: readonly string[]): string =>
  `${all.length - MAX_NOTES + 1} more reasons are not shown here.`

function toolOf(
  named: ReadonlyMap<string, SourcedTool>,
  { action, name }: ToolSource,
): SourcedTool | undefined {
  return named.values().find(({ source }) => source?.action === action && source?.name === name)
}

function unknownTool(
  { tool, of }: Pick<ToolCall, 'tool' | 'of'>,
  known: readonly string[],
  notes: readonly string[],
): string {
  const some = known.slice(0, MAX_NAMED).join(', ')
  const rest = known.length > MAX_NAMED ? ', …' : ''
  const tools = known.length === 0 ? 'There are no tools.' : `The tools are: ${some}${rest}.`
  const missing =
    of === undefined
      ? `There is no tool ${quoted(tool)}.`
      : `The tool that was ${quoted(tool)} is not there any more.`
  return [missing, tools, ...notes].join(' ')
}

const MAX_QUOTED = 100

const quoted = (text: string): string => JSON.stringify(text.slice(0, MAX_QUOTED).toWellFormed())

/** The arguments, or why they are none. */
function readArgs(text: string): JsonObject | string {
  const bytes = Buffer.from(text)
  if (bytes.length > MAX_ARGS_BYTES) return `The arguments are longer than ${MAX_ARGS_BYTES} bytes.`
  try {
    // Before anything recurses.
    checkBytes(bytes)
    const args = jsonObject.safeParse(text.trim() === '' ? {} : parseExact(text)).data
    if (args === undefined) return 'The arguments are not one JSON object.'
    const [wrong] = unstorable(args)
    return wrong === undefined ? args : `The argument ${wrong.path || '/'} ${wrong.message}.`
  } catch (error) {
    return error instanceof Problem ? `The arguments: ${error.message}` : 'The arguments are not JSON.'
  }
}

/**
 * A name that every provider takes and that is not taken yet, as near to `given` as can be: letters, digits, `_` and
 * `-`, 64 at most, beginning with a letter or `_`. The same names in the same order come out the same.
 */
function uniqueName(given: string, taken: { has(name: string): boolean }): string {
  const plain = given.replaceAll(/[^\w-]/g, '_')
  const name = (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, MAX_CHARACTERS)
  if (!taken.has(name)) return name
  for (let n = 2; ; n++) {
    const suffix = `_${n}`
    const next = name.slice(0, MAX_CHARACTERS - suffix.length) + suffix
    if (!taken.has(next)) return next
  }
}
