import { ForeignDocumentError, readForeignDocument } from '@parley/shared/foreign-document'

/** The dispatcher calls no server with a longer URL. */
const MAX_SERVER_CHARACTERS = 8_192

/** What a spec says of itself. */
export interface SpecFacts {
  /** What is wrong with it; undefined for an OpenAPI 3 document. */
  error?: string | undefined
  /** That of its first server, its variables at their defaults, exactly as the dispatcher reads it; undefined where there is none. */
  origin?: string | undefined
}

/** Reads a spec, in a process that may be killed meanwhile. */
export default function readSpec(text: string): SpecFacts {
  let spec: unknown
  try {
    spec = readForeignDocument(text)
  } catch (error) {
    if (error instanceof ForeignDocumentError) return { error: error.syntax ?? error.message }
    throw error
  }
  if (typeof spec !== 'object' || spec === null) return { error: 'is no YAML mapping' }
  if (!/^3(\.|$)/.test(String(memberOf(spec, 'openapi'))))
    return { error: 'names no OpenAPI 3 version under openapi' }
  const paths = memberOf(spec, 'paths')
  const error = typeof paths === 'object' && paths !== null ? undefined : 'has no paths'
  return { error, origin: originOf(spec) }
}

function originOf(spec: object): string | undefined {
  const servers = memberOf(spec, 'servers')
  const server = Array.isArray(servers) ? servers[0] : undefined
  const template = memberOf(server, 'url')
  if (typeof template !== 'string') return undefined
  const variables = memberOf(server, 'variables')
  let room = MAX_SERVER_CHARACTERS
  // One variable may stand in it any number of times.
  const url = template.slice(0, room).replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = memberOf(memberOf(variables, name), 'default')
    const text = typeof value === 'object' ? '' : String(value ?? '').slice(0, Math.max(0, room))
    room -= text.length
    return text
  })
  return URL.canParse(url) && /^https?:/.test(url) ? new URL(url).origin : undefined
}

function memberOf(value: unknown, key: string): unknown {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMapping && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}
