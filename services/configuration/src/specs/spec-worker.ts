import { reasonNotToBindIn } from '@parley/shared/bound-value'
import { ForeignDocumentError, readForeignDocument } from '@parley/shared/foreign-document'
import { nativeServers, serverUrlOf } from '@parley/shared/native-request'
import { isSwagger, withoutSwagger } from '@parley/shared/openapi/swagger'

/** A spec, and the module that executes it. */
export interface SpecText {
  spec: string
  moduleUrl?: string
}

/** The facts that a spec contains about itself. */
export interface SpecFacts {
  /** The error in it; undefined for an OpenAPI 3 document. */
  error?: string | undefined
  /** That of its first server, its variables at their defaults, exactly as the dispatcher reads it; undefined where there is none. */
  origin?: string | undefined
}

/** Reads a spec, in a process that may be killed meanwhile. */
export default function readSpec({ spec: text, moduleUrl = 'native:request' }: SpecText): SpecFacts {
  let given: unknown
  try {
    given = readForeignDocument(text)
  } catch (error) {
    if (error instanceof ForeignDocumentError) return { error: error.syntax ?? error.message }
    throw error
  }
  if (!isMapping(given)) return { error: 'is no YAML mapping' }
  const spec = isSwagger(given) ? withoutSwagger(given) : given
  if (!/^3(\.|$)/.test(String(memberOf(spec, 'openapi'))))
    return { error: 'names neither an OpenAPI 3 version under openapi nor 2.0 under swagger' }
  const paths = memberOf(spec, 'paths')
  const hasPaths = typeof paths === 'object' && paths !== null
  const error = hasPaths ? reasonNotToBindIn(spec) : 'has no paths'
  return { error, origin: originOf(spec, moduleUrl) }
}

function originOf(spec: object, moduleUrl: string): string | undefined {
  const native = nativeServers(moduleUrl)
  const servers = memberOf(spec, 'servers')
  const server = Array.isArray(servers) ? servers[0] : undefined
  const template = memberOf(server, 'url') ?? (server === undefined ? native?.base : undefined)
  if (typeof template !== 'string' || native === undefined) return undefined
  const variables = memberOf(server, 'variables')
  const url = serverUrlOf(template, native, (name) => {
    const value = memberOf(memberOf(variables, name), 'default')
    return typeof value === 'object' ? '' : String(value ?? '')
  })
  return url instanceof URL ? url.origin : undefined
}

function memberOf(value: unknown, key: string): unknown {
  return isMapping(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
