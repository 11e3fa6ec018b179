import type { CallContext, ConfiguredBinding } from '@parley/shared/bound-value'
import type { JsonObject } from '@parley/shared/json-object'
import { secretsInUrl } from '../../channels/http/error-text.ts'
import type { Signer } from '../../channels/signing.ts'
import type { AccessTokens } from '../../functions/access-tokens.ts'
import {
  type PlacedBinding,
  placedIn,
  UnboundError,
  withBound,
  withoutBound,
} from '../../functions/bindings.ts'
import { callSettingsIn } from '../../functions/call-settings.ts'
import { reasonOfUnused } from '../../functions/configured-bindings.ts'
import { headersFor, reasonToWithholdCredentials, redacted } from '../../functions/credentials.ts'
import { TokenError } from '../../functions/request-token.ts'
import { contextHeaders } from '../../functions/signed-context.ts'
import { ArgsError } from '../../functions/spec-document.ts'
import type { SpecReader } from '../../functions/spec-reader.ts'
import { type AgentAction, credentialsIn } from '../agent.ts'
import type { AttemptLimits, OpenedTool, Tool, ToolOutcome } from '../toolbox.ts'
import { isUnauthorized, outcomeOfMcpError } from './mcp-failure.ts'
import { createListings, type McpServer, nameOf, type ServerTool } from './mcp-listing.ts'
import { imagesOf, textOf } from './mcp-results.ts'
import { McpCalls, NotBegun } from './mcp-session.ts'
import {
  type ActionTools,
  bindingsOf,
  callContext,
  chosenIn,
  notesOf,
  signsContext,
  type ToolContext,
} from './operation-tools.ts'
import { failed, resultOf } from './tool.ts'
import type { ToolImages } from './tool-images.ts'

/** However long a server tells of its progress, in milliseconds. */
const MAX_CALL_MS = 300_000
/** As many as notes name. */
const MAX_UNKNOWN = 20

/** The tools of an action's MCP server. Never rejects for what the server does; rejects with `unavailable`. */
type McpTools = (action: AgentAction, context: ToolContext) => Promise<ActionTools>

/** Makes tools of what servers list. `fetch` refuses private targets. */
export function createMcpTools(
  options: Parameters<typeof createListings>[0] & {
    toolImages: Pick<ToolImages, 'put'>
    tokens: AccessTokens
    signer: Signer
  },
): McpTools {
  const { fetch, specs, toolImages, tokens, signer } = options
  const listings = createListings(options)
  return async (action, context) => {
    const { workspace } = context.channel
    const configured = bindingsOf(action)
    if (typeof configured === 'string') return { tools: [], notes: [], missing: [configured] }
    const credentials = credentialsIn(action)
    const withheld = reasonToWithholdCredentials(action._id, credentials, action.moduleUrl)
    if (withheld !== undefined) return { tools: [], notes: [withheld] }
    const filled = await tokens
      .filled({ workspace, _id: action._id }, credentials, { url: action.moduleUrl, isDiscovered: true })
      .catch(asTokenError)
    if (filled instanceof TokenError)
      return {
        tools: [],
        notes: [`The tools of ${nameOf({ action: action._id })} are missing: ${filled.message}`],
      }
    const { headers, secrets: sent } = headersFor(filled?.value)
    const secrets = [...sent, ...secretsInUrl(action.moduleUrl)]
    const key = `${workspace}/${action._id}/${action.version}`
    const { isIdempotent, timeoutMs } = callSettingsIn(action.configs.values())
    const { isFresh = false } = context
    const server = { url: action.moduleUrl, headers, secrets, workspace, action: action._id, key, isFresh }
    if (!/^https?:/.test(server.url) || !URL.canParse(server.url))
      return { tools: [], notes: [`The module of action ${action._id} is no http(s) URL.`] }
    const refused = () => tokens.refused(filled)
    const listing = await listings.forceFetch(`${key} ${JSON.stringify(headers)}`, {
      context: server,
      forceRefresh: isFresh,
    })
    if (listing.isUnauthorized) refused()
    const { chosen, unknown } = chosenOf(listing.tools, chosenIn(action.configs.values()))
    const bound = boundTools(chosen, configured)
    if (typeof bound === 'string') {
      const missing = notesOf({ tools: [], left: 0, broken: [], missing: bound }, nameOf(server))
      return { tools: [], notes: [], missing }
    }
    const calls = new McpCalls({ fetch, target: server })
    const tools = bound.map(({ tool: listed, bindings }): Tool => {
      const tool = { ...listed, isRepeatable: listed.isRepeatable || isIdempotent }
      const headersOf = (id: string) =>
        signsContext(action) ? contextHeaders(signer, { ...context, action, operationId: tool.name }, id) : {}
      const opening = { calls, specs, toolImages, refused, server, tool, timeoutMs, headersOf }
      return {
        ...listed,
        open: (args) => openedBound(opening, args, { bindings, context: callContext(context) }),
      }
    })
    const { notes, instructions } = listing
    const missing = [
      ...(listing.missing ?? []),
      ...notesOf({ tools: [], left: 0, broken: [], unknown }, nameOf(server)),
    ]
    const said = instructions === undefined ? {} : { instructions: { server: action.name, instructions } }
    return {
      tools,
      notes,
      ...(listing.missing !== undefined && { missing }),
      ...said,
      close: () => calls.close(),
    }
  }
}

function asTokenError(error: unknown): TokenError {
  if (error instanceof TokenError) return error
  throw error
}

interface Opening {
  calls: McpCalls
  specs: Pick<SpecReader, 'ask'>
  toolImages: Pick<ToolImages, 'put'>
  /** The server refused the access token. */
  refused(): void
  server: McpServer
  tool: ServerTool
  timeoutMs: number
  headersOf(id: string): Record<string, string>
}

/** Of what a server lists the tools that configuration chooses by their names, all where it chooses none. */
function chosenOf(
  tools: readonly ServerTool[],
  names: readonly string[] | undefined,
): { chosen: readonly ServerTool[]; unknown: string[] } {
  if (names === undefined) return { chosen: tools, unknown: [] }
  const own = new Set(tools.map(({ name }) => name))
  return {
    chosen: tools.filter(({ name }) => names.includes(name)),
    // Where the server can't be asked nothing is known of them.
    unknown: tools.length === 0 ? [] : names.filter((name) => !own.has(name)).slice(0, MAX_UNKNOWN),
  }
}

/** The tools as a model sees them, with what configuration sets of their arguments; else what none of them has a place for. */
function boundTools(
  tools: readonly ServerTool[],
  configured: readonly ConfiguredBinding[],
): { tool: ServerTool; bindings: PlacedBinding[] }[] | string {
  const used = new Set<ConfiguredBinding>()
  const bound = tools.map((tool) => {
    const mine = configured.filter(
      ({ operation, path: [first = ''] }) =>
        (operation ?? tool.name) === tool.name && Object.hasOwn(Object(tool.inputSchema.properties), first),
    )
    for (const one of mine) used.add(one)
    const bindings = placedIn({ dialect: '2020-12', root: tool.inputSchema }, tool.inputSchema, mine)
    return { tool: { ...tool, inputSchema: withoutBound(tool.inputSchema, bindings) }, bindings }
  })
  // Where the server can't be asked there is nothing to bind.
  return (tools.length > 0 && reasonOfUnused(configured, used)) || bound
}

function openedBound(
  opening: Opening,
  args: JsonObject,
  { bindings, context }: { bindings: PlacedBinding[]; context: CallContext },
): Promise<OpenedTool> | OpenedTool {
  try {
    return openedCall(opening, withBound(args, bindings, { context, at: '' }) as JsonObject)
  } catch (error) {
    if (error instanceof ArgsError)
      return { kind: 'invalid', reason: `The argument ${error.path || '/'} ${error.message}.` }
    if (!(error instanceof UnboundError)) throw error
    const reason = `Nothing was sent: ${error.message}.`
    return { kind: 'call', isRepeatable: false, deliver: async () => failed(reason) }
  }
}

async function openedCall(opening: Opening, args: JsonObject): Promise<OpenedTool> {
  const { specs, server, tool, timeoutMs } = opening
  const { workspace, key, url } = server
  const checked = await specs.ask({
    kind: 'fits',
    workspace,
    key: `${key}/${tool.name}`,
    spec: tool.schema,
    args: JSON.stringify(args),
  })
  // A schema that can't be applied here is the server's to apply.
  if (checked.kind === 'bad_args')
    return { kind: 'invalid', reason: `The argument ${checked.path || '/'} ${checked.reason}.` }
  const { isRepeatable, isReadOnly } = tool
  const deliver = (key: string, limits: AttemptLimits = {}) => called(opening, { args, key, ...limits })
  return { kind: 'call', url, isRepeatable, isReadOnly, timeoutMs, deliver }
}

async function called(
  { calls, toolImages, refused, server, tool, timeoutMs, headersOf }: Opening,
  { args, key, leftMs = MAX_CALL_MS, ended }: { args: JsonObject; key: string } & AttemptLimits,
): Promise<ToolOutcome> {
  if (ended?.aborted) return { kind: 'unreached', reason: 'Another instance has the message.' }
  const { secrets } = server
  const totalMs = Math.min(leftMs, MAX_CALL_MS)
  const limits = { timeoutMs: Math.min(timeoutMs, leftMs), totalMs, ended }
  const headers = { ...headersOf(key), 'idempotency-key': key }
  try {
    const result = await calls.call({ name: tool.name, args, headers }, limits)
    toolImages.put(key, imagesOf(result))
    const text = redacted(textOf(result), secrets)
    return { kind: 'answered', result: resultOf(result.isError === true ? 'failed' : 'done', text) }
  } catch (error) {
    if (isUnauthorized(error instanceof NotBegun ? error.cause : error)) refused()
    if (error instanceof NotBegun) return outcomeOfMcpError(error.cause, { secrets, mayHaveRun: false })
    return outcomeOfMcpError(error, { secrets, mayHaveRun: !tool.isRepeatable })
  }
}
