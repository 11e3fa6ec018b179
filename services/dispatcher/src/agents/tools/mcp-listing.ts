import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { redacted } from '../../functions/credentials.ts'
import { shortened } from '../../functions/model-schema.ts'
import type { SpecReader } from '../../functions/spec-reader.ts'
import { type ListedTool, MAX_TOOLS } from '../../functions/tool-list.ts'
import { withItsNumbers } from '../exact-responses.ts'
import { isUnauthorized, reasonOfMcpError } from './mcp-failure.ts'
import { serverTool, toolPage } from './mcp-results.ts'
import { type McpTarget, withMcpSession } from './mcp-session.ts'
import { notesOf } from './operation-tools.ts'
import type { ReportServer } from './report-server.ts'

const LIST_MS = 5_000
const LISTED_FOR_MS = 60_000
const FAILED_FOR_MS = 10_000
const MAX_LISTS = 500
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_PAGES = 10
const MAX_SCHEMA_CHARACTERS = 32 * 1024
const MAX_NAME = 256
const MAX_INSTRUCTIONS = 4_000
const MAX_REASON = 500

/** A tool with what its server says of it. */
export interface ServerTool extends ListedTool {
  /** The server's own schema, which the arguments are checked by. */
  schema: string
  /** True if calling it twice does no more than calling it once, according to the server or its action. */
  isRepeatable: boolean
  isReadOnly: boolean
}

/** The tools that a server offers; without tools where it could not be asked, for the reason in `notes`. */
interface Listing {
  tools: ServerTool[]
  notes: string[]
  /** The entries of its list that can't be used as tools, and why. */
  missing?: string[]
  instructions?: string
  /** The server refused who asks. */
  isUnauthorized?: boolean
}

/** An action's server, and what calls of it carry. */
export interface McpServer extends McpTarget {
  workspace: number
  action: number
  key: string
  secrets: string[]
  /** Somebody asked for what it says now. */
  isFresh: boolean
}

/**
 * Lists the tools of each version of an action once and works with that for a minute; a server that could not be asked
 * is asked again after 10 s.
 */
export function createListings(options: {
  fetch: typeof fetch
  specs: Pick<SpecReader, 'ask'>
  report: ReportServer
  listMs?: number
  listedForMs?: number
}): LRUCache<string, Listing, McpServer> {
  const { fetch, specs, report, listMs = LIST_MS, listedForMs = LISTED_FOR_MS } = options
  return new LRUCache<string, Listing, McpServer>({
    max: MAX_LISTS,
    maxSize: MAX_CHARACTERS,
    ttl: listedForMs,
    sizeCalculation: (listing) => JSON.stringify(listing).length,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _last, { context: server, options }) => {
      const isAsked = server.isFresh
      try {
        const listing = await listingOf(specs, server, await listTools(fetch, server, listMs))
        report(server, undefined)
        return listing
      } catch (error) {
        options.ttl = Math.min(FAILED_FOR_MS, listedForMs)
        const reason = shortened(redacted(reasonOfMcpError(error), server.secrets), MAX_REASON)
        const note = `The tools of ${nameOf(server)} are missing: ${reason}`
        report(server, note, { isAsked })
        return { tools: [], notes: [note], isUnauthorized: isUnauthorized(error) }
      }
    },
  })
}

/** How notes call a server. */
export const nameOf = ({ action }: Pick<McpServer, 'action'>): string => `the MCP server of action ${action}`

/** The first tools that a server lists, how many it lists, and whether its list goes on. */
interface Listed {
  tools: z.output<typeof serverTool>[]
  /** Of those that can't be read: what is wrong with each. */
  unreadable: string[]
  count: number
  more: boolean
  instructions: string | undefined
}

/** Asks a server for its tools. Rejects with what the session failed with. */
export async function listTools(
  fetch: typeof globalThis.fetch,
  target: McpTarget,
  timeoutMs: number,
): Promise<Listed> {
  return withMcpSession({ fetch, target, timeoutMs }, async (client, request) => {
    const tools: Listed['tools'] = []
    const unreadable: string[] = []
    let count = 0
    let cursor: string | undefined
    const seen = new Set<string>()
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const params = cursor === undefined ? {} : { cursor }
      const page = await client.request({ method: 'tools/list', params }, toolPage, request)
      count += page.tools.length
      for (const given of page.tools.slice(0, MAX_TOOLS - tools.length - unreadable.length)) {
        const read = serverTool.safeParse(given)
        if (read.success) tools.push(read.data)
        else unreadable.push(unreadableReason(given, read.error))
      }
      cursor = page.nextCursor
      // A list that leads back to a page that was read has no more.
      if (cursor !== undefined && seen.has(cursor)) cursor = undefined
      if (cursor === undefined || count > MAX_TOOLS) break
      seen.add(cursor)
    }
    return { tools, unreadable, count, more: cursor !== undefined, instructions: client.getInstructions() }
  })
}

/** One tool that can't be read never takes the others of its server away. */
function unreadableReason(given: unknown, error: z.ZodError): string {
  const name = named.safeParse(given).data?.name
  const [issue] = error.issues
  const reason =
    issue?.code === 'custom' ? issue.message : `is not what the protocol says at ${pathOf(issue?.path ?? [])}`
  return name === undefined ? `${reason} (it has no name)` : `is ${JSON.stringify(name)}, which ${reason}`
}

const named = z.looseObject({ name: z.string().transform((name) => name.slice(0, MAX_NAME).toWellFormed()) })
const pathOf = (path: readonly PropertyKey[]): string => `/${path.map(String).join('/')}`

/** The schemas are somebody else's, so they are worked with outside the event loop. */
async function listingOf(
  specs: Pick<SpecReader, 'ask'>,
  server: McpServer,
  { tools, unreadable, count, more, instructions }: Listed,
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
  const left = count - own.length - tasks.length - unreadable.length + answer.left
  const broken = [
    ...answer.broken,
    ...unreadable,
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
    notes: [],
    missing: [
      ...notesOf({ ...answer, left, broken }, nameOf(server)),
      ...(more ? [`There are more tools of ${nameOf(server)}: its list goes on.`] : []),
    ].map((reason) => redacted(reason, server.secrets)),
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
