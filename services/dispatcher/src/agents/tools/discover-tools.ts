import { createHash } from 'node:crypto'
import { outcomeOfFailure } from '../../channels/http/call-outcome.ts'
import { secretsInUrl } from '../../channels/http/error-text.ts'
import type { HttpClient } from '../../channels/http/http-client.ts'
import { redacted } from '../../functions/credentials.ts'
import { shortened } from '../../functions/model-schema.ts'
import type { SpecReader } from '../../functions/spec-reader.ts'
import { isUnauthorized, reasonOfMcpError } from './mcp-failure.ts'
import { listTools } from './mcp-listing.ts'

const READ_MS = 8_000
const LIST_MS = 5_000
const MAX_BYTES = 8 * 1024 * 1024
const MAX_REASON = 500
const MAX_DESCRIPTION = 1_000
const ACCEPT = 'application/json, application/yaml, text/*;q=0.9, */*;q=0.8'

/** The action that a URL would make; without `specType` where nothing there can be one. */
interface Discovered {
  specType?: 'openapi3-yaml' | 'mcp'
  /** The OpenAPI document that was read. */
  spec?: string
  /** The tools that the MCP server lists. */
  tools: { name: string; description: string }[]
  notes: string[]
}

/** Looks what is at a URL, as somebody without credentials. Rejects with `unavailable`. */
export type DiscoverTools = (asked: { workspace: number; url: string }) => Promise<Discovered>

/** An OpenAPI document is read as what it is; anything else is asked for its tools as an MCP server is. */
export function createDiscoverTools(options: {
  http: Pick<HttpClient, 'send'>
  specs: Pick<SpecReader, 'ask'>
  fetch: typeof fetch
}): DiscoverTools {
  return async (asked) => {
    const document = await readDocument(options, asked)
    if (typeof document !== 'string') return document
    const server = await askServer(options.fetch, asked.url)
    if (typeof server !== 'string') return server
    return {
      tools: [],
      notes: [`It is no OpenAPI document: ${document}`, `It is no MCP server: ${server}`],
    }
  }
}

/** Returns the action that the document at the URL describes, or the reason why there is none. */
async function readDocument(
  { http, specs }: Parameters<typeof createDiscoverTools>[0],
  { workspace, url }: { workspace: number; url: string },
): Promise<Discovered | string> {
  // It is read elsewhere, where it is counted.
  const bounds = { timeoutMs: READ_MS, maxBytes: MAX_BYTES, maxNodes: Number.POSITIVE_INFINITY }
  const call = { method: 'GET', url, headers: { accept: ACCEPT }, ...bounds }
  const response = await http.send(call).catch((error: unknown) => outcomeOfFailure(error).reason)
  if (typeof response === 'string') return response
  const { status, headers, body } = response
  if (status >= 300 && status < 400)
    return `It redirects to ${shortened(String(headers.location), MAX_REASON)}, which is not followed.`
  if (status !== 200) return `The answer has the status ${status}.`
  const key = `discovered/${workspace}/${createHash('sha256').update(body).digest('base64url')}`
  const answer = await specs.ask({ kind: 'operations', workspace, key, spec: body })
  if (answer.kind === 'bad_spec') return `It ${answer.reason}.`
  if (answer.kind !== 'operations') return 'It takes too long to read.'
  const notes = answer.ids.length === 0 ? ['The document has no operation with an operationId.'] : []
  return { specType: 'openapi3-yaml', spec: body, tools: [], notes }
}

/** Returns the tools that the MCP server at the URL lists, or the reason why there are none. */
async function askServer(fetch: typeof globalThis.fetch, url: string): Promise<Discovered | string> {
  try {
    const { tools, unreadable } = await listTools(fetch, { url, headers: {} }, LIST_MS)
    return {
      specType: 'mcp',
      tools: tools.map(({ name, description = '' }) => ({
        name,
        description: shortened(description, MAX_DESCRIPTION),
      })),
      notes: unreadable.map((reason) => `A tool is left out: it ${reason}.`),
    }
  } catch (error) {
    if (isUnauthorized(error))
      return {
        specType: 'mcp',
        tools: [],
        notes: ['The server asks for credentials, so its tools are not known yet.'],
      }
    return shortened(redacted(reasonOfMcpError(error), secretsInUrl(url)), MAX_REASON)
  }
}
