import type { CallContext, ConfiguredBinding } from '@parley/shared/bound-value'
import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { AccessTokens } from '../../channels/functions/access-tokens.ts'
import {
  type PlacedBinding,
  placedIn,
  UnboundError,
  withBound,
  withoutBound,
} from '../../channels/functions/bindings.ts'
import { callSettingsIn } from '../../channels/functions/call-settings.ts'
import { reasonOfUnused } from '../../channels/functions/configured-bindings.ts'
import { headersFor, reasonToWithholdCredentials, redacted } from '../../channels/functions/credentials.ts'
import { shortened } from '../../channels/functions/model-schema.ts'
import { leavesOpen } from '../../channels/functions/repeatable.ts'
import { TokenError } from '../../channels/functions/request-token.ts'
import { contextHeaders } from '../../channels/functions/signed-context.ts'
import { ArgsError } from '../../channels/functions/spec-document.ts'
import type { SpecReader } from '../../channels/functions/spec-reader.ts'
import { type ListedTool, MAX_TOOLS } from '../../channels/functions/tool-list.ts'
import { CallError } from '../../channels/http/call-error.ts'
import { outcomeOfFailure } from '../../channels/http/call-outcome.ts'
import { secretsInUrl } from '../../channels/http/error-text.ts'
import type { Signer } from '../../channels/signing.ts'
import { type AgentAction, credentialsIn } from '../agent.ts'
import { withItsNumbers } from '../exact-responses.ts'
import type { AttemptLimits, OpenedTool, ToolOutcome } from '../toolbox.ts'
import { RedirectRefused } from './mcp-fetch.ts'
import { imagesOf, serverTool, textOf, toolPage } from './mcp-results.ts'
import { McpCalls, type McpTarget, NotBegun, withMcpSession } from './mcp-session.ts'
import {
  type ActionTools,
  bindingsOf,
  callContext,
  notesOf,
  signsContext,
  type ToolContext,
} from './operation-tools.ts'
import type { ReportServer } from './report-server.ts'
import { failed, resultOf, type Tool, uncertain } from './tool.ts'
import type { ToolImages } from './tool-images.ts'

const LIST_MS = 5_000
const LISTED_FOR_MS = 60_000
const FAILED_FOR_MS = 10_000
const MAX_LISTS = 500
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_PAGES = 10
const MAX_SCHEMA_CHARACTERS = 32 * 1024
const MAX_NAME = 256
const MAX_INSTRUCTIONS = 4_000
/** However long a server tells of its progress, in milliseconds. */
const MAX_CALL_MS = 300_000
const MAX_REASON = 500

/** A tool with what its server says of it. */
interface ServerTool extends ListedTool {
  /** The server's own schema, which the arguments are checked by. */
  schema: string
  /** Whether calling it twice does no more than calling it once, as the server says, or its action. */
  isRepeatable: boolean
  isReadOnly: boolean
}

/** What a server offers; without tools where it could not be asked, for the reason in `notes`. */
interface Listing {
  tools: ServerTool[]
  notes: string[]
  instructions?: string
  /** The server refused who asks. */
  isUnauthorized?: boolean
}

interface Server extends McpTarget {
  workspace: number
  action: number
  key: string
  secrets: string[]
  isFresh: boolean
}

/** The tools of an action's MCP server. Never rejects for what the server does; rejects with `unavailable`. */
type McpTools = (action: AgentAction, context: ToolContext) => Promise<ActionTools>

/**
 * Lists the tools of each version of an action once and works with that for a minute; a server that could not be asked
 * is asked again after 10 s. `fetch` refuses private targets.
 */
export function createMcpTools(options: {
  fetch: typeof fetch
  specs: Pick<SpecReader, 'ask'>
  toolImages: Pick<ToolImages, 'put'>
  tokens: AccessTokens
  signer: Signer
  report: ReportServer
  listMs?: number
  listedForMs?: number
}): McpTools {
  const { fetch, specs, toolImages, tokens, signer, report } = options
  const { listMs = LIST_MS, listedForMs = LISTED_FOR_MS } = options
  const listings = new LRUCache<string, Listing, Server>({
    max: MAX_LISTS,
    maxSize: MAX_CHARACTERS,
    ttl: listedForMs,
    sizeCalculation: (listing) => JSON.stringify(listing).length,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _last, { context: server, options }) => {
      const isAsked = server.isFresh
      try {
        const listing = await listingOf(specs, server, await listed(fetch, server, listMs))
        report(server, undefined)
        return listing
      } catch (error) {
        options.ttl = Math.min(FAILED_FOR_MS, listedForMs)
        const reason = shortened(redacted(reasonOf(error), server.secrets), MAX_REASON)
        const isUnauthorized = statusOf(error) === UNAUTHORIZED
        const note = `The tools of ${nameOf(server)} are missing: ${reason}`
        report(server, note, { isAsked })
        return { tools: [], notes: [note], isUnauthorized }
      }
    },
  })
  return async (action, context) => {
    const { workspace } = context.channel
    const configured = bindingsOf(action)
    if (typeof configured === 'string') return { tools: [], notes: [configured] }
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
    const bound = boundTools(listing.tools, configured)
    if (typeof bound === 'string')
      return { tools: [], notes: notesOf({ tools: [], left: 0, broken: [], missing: bound }, nameOf(server)) }
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
    const said = instructions === undefined ? {} : { instructions: { server: action.name, instructions } }
    return { tools, notes, ...said, close: () => calls.close() }
  }
}

const UNAUTHORIZED = 401

function asTokenError(error: unknown): TokenError {
  if (error instanceof TokenError) return error
  throw error
}

const nameOf = ({ action }: Pick<Server, 'action'>): string => `the MCP server of action ${action}`

/** The first tools that a server lists, how many it lists, and whether its list goes on. */
interface Listed {
  tools: z.output<typeof serverTool>[]
  count: number
  more: boolean
  instructions: string | undefined
}

async function listed(fetch: typeof globalThis.fetch, target: McpTarget, timeoutMs: number): Promise<Listed> {
  return withMcpSession({ fetch, target, timeoutMs }, async (client, request) => {
    const tools: Listed['tools'] = []
    let count = 0
    let cursor: string | undefined
    const seen = new Set<string>()
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const params = cursor === undefined ? {} : { cursor }
      const page = await client.request({ method: 'tools/list', params }, toolPage, request)
      count += page.tools.length
      tools.push(...z.array(serverTool).parse(page.tools.slice(0, MAX_TOOLS - tools.length)))
      cursor = page.nextCursor
      // A list that leads back to a page that was read has no more.
      if (cursor !== undefined && seen.has(cursor)) cursor = undefined
      if (cursor === undefined || count > MAX_TOOLS) break
      seen.add(cursor)
    }
    return { tools, count, more: cursor !== undefined, instructions: client.getInstructions() }
  })
}

/** The schemas are somebody else's, so they are worked with outside the event loop. */
async function listingOf(
  specs: Pick<SpecReader, 'ask'>,
  server: Server,
  { tools, count, more, instructions }: Listed,
): Promise<Listing> {
  const own = tools.flatMap((tool) => {
    const schema = schemaText(tool.inputSchema)
    const isOther = schema === undefined || tool.name.length > MAX_NAME
    return isOther || isTask(tool) ? [] : [{ tool, schema }]
  })
  const plain = own.map(({ tool: { name, description = '', inputSchema } }) => ({
    name,
    description,
    inputSchema,
  }))
  const { workspace, key } = server
  const spec = withItsNumbers(JSON.stringify(plain))
  const answer = await specs.ask({ kind: 'server_tools', workspace, key, spec })
  if (answer.kind !== 'tools') return { tools: [], notes: [`The tools of ${nameOf(server)} can't be read.`] }
  const tasks = tools.filter(isTask)
  const left = count - own.length - tasks.length + answer.left
  const broken = [
    ...answer.broken,
    ...tasks.map(({ name }) => `is ${JSON.stringify(name)}, which runs as a task only`),
  ]
  const byName = new Map(own.map((one) => [one.tool.name, one] as const))
  return {
    tools: answer.tools.flatMap((tool) => {
      const found = byName.get(tool.name)
      if (found === undefined) return []
      const { annotations } = found.tool
      const isReadOnly = annotations?.readOnlyHint === true
      const isRepeatable = isReadOnly || annotations?.idempotentHint === true
      return [{ ...tool, schema: found.schema, isRepeatable, isReadOnly }]
    }),
    notes: [
      ...notesOf({ ...answer, left, broken }, nameOf(server)),
      ...(more ? [`There are more tools of ${nameOf(server)}: its list goes on.`] : []),
    ],
    ...(instructions ? { instructions: shortened(instructions, MAX_INSTRUCTIONS) } : {}),
  }
}

/** One whose result has to be asked for again and again, which the protocol tries out. */
const isTask = ({ execution }: z.output<typeof serverTool>): boolean => execution?.taskSupport === 'required'

function schemaText(schema: unknown): string | undefined {
  try {
    const text = withItsNumbers(JSON.stringify(schema))
    return text.length > MAX_SCHEMA_CHARACTERS ? undefined : text
  } catch {
    // It is nested too deeply.
    return undefined
  }
}

interface Opening {
  calls: McpCalls
  specs: Pick<SpecReader, 'ask'>
  toolImages: Pick<ToolImages, 'put'>
  /** The server refused the access token. */
  refused(): void
  server: Server
  tool: ServerTool
  timeoutMs: number
  headersOf(id: string): Record<string, string>
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
    if (statusOf(error instanceof NotBegun ? error.cause : error) === UNAUTHORIZED) refused()
    if (error instanceof NotBegun) return outcomeOfError(error.cause, { secrets, mayHaveRun: false })
    return outcomeOfError(error, { secrets, mayHaveRun: !tool.isRepeatable })
  }
}

/** The protocol has no idempotency key, so a call that may have run is not made again unless something says that it may. */
function outcomeOfError(
  error: unknown,
  { secrets, mayHaveRun }: { secrets: string[]; mayHaveRun: boolean },
): ToolOutcome {
  const reason = redacted(reasonOf(error), secrets)
  const status = statusOf(error)
  const isFinal = error instanceof RedirectRefused || isRefusedTarget(error) || isResponse(error)
  if (isFinal || (status !== undefined && !leavesOpen(status))) return failed(reason, status)
  const neverLeft = causesOf(error).some((one) => one instanceof CallError && one.failure === 'not_sent')
  if (!mayHaveRun || neverLeft) return { kind: 'unreached', reason }
  return uncertain(reason, defined({ status }))
}

const REQUEST_TIMEOUT = -32_001
const CONNECTION_CLOSED = -32_000

/** An error that the server itself answered with, in the terms of JSON-RPC. */
function isResponse(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown }
  return name === 'McpError' && code !== REQUEST_TIMEOUT && code !== CONNECTION_CLOSED
}

/** The HTTP status, where the SDK says it. */
function statusOf(error: unknown): number | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' && code >= 100 && code < 600 ? code : undefined
}

function isRefusedTarget(error: unknown): boolean {
  return causesOf(error).some((one) => one instanceof CallError && one.failure === 'refused_target')
}

const MAX_CAUSES = 5

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let one = error; one instanceof Error && causes.length < MAX_CAUSES; one = one.cause) causes.push(one)
  return causes
}

function reasonOf(error: unknown): string {
  const call = causesOf(error).find((one) => one instanceof CallError)
  if (call !== undefined) return outcomeOfFailure(call).reason
  if (error instanceof z.core.$ZodError) return 'Its answer is not what the protocol says.'
  return error instanceof Error ? error.message : 'It failed.'
}
