import type { NativeServers } from '@parley/shared/native-request'
import { type FoundOperation, serverUrl } from './operation.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

const MAX_ALTERNATIVES = 50

/** A security scheme that credentials can fill. */
export type SecurityScheme = { id: string } & (
  | { kind: 'apiKey'; place: 'header' | 'query' | 'cookie'; name: string }
  | { kind: 'bearer' }
  | { kind: 'basic' }
)

/**
 * What an operation asks for at `url`: alternatives, each of schemes that belong together. None where the operation
 * asks for none, and none at an origin other than that of the document's first server. Where neither operation nor
 * document says which schemes apply, each that there is.
 */
export function securityOf(
  document: SpecDocument,
  { operation }: Pick<FoundOperation, 'operation'>,
  { url, native }: { url: string; native: NativeServers },
): SecurityScheme[][] {
  if (new URL(url).origin !== originOf(document, native)) return []
  const schemes = schemesOf(document)
  const asked = memberOf(operation, 'security') ?? memberOf(document.root, 'security')
  if (!Array.isArray(asked)) return [...schemes.values()].map((scheme) => [scheme])
  return asked.slice(0, MAX_ALTERNATIVES).flatMap((requirement) => {
    const named = isObject(requirement) ? Object.keys(requirement).map((id) => schemes.get(id)) : []
    const known = named.filter((scheme) => scheme !== undefined)
    return known.length > 0 && known.length === named.length ? [known] : []
  })
}

function originOf(document: SpecDocument, native: NativeServers): string | undefined {
  try {
    const nowhere = { method: '', path: '', item: {}, operation: {} }
    return new URL(serverUrl(document, nowhere, native)).origin
  } catch (error) {
    if (error instanceof SpecError) return undefined
    throw error
  }
}

function schemesOf(document: SpecDocument): Map<string, SecurityScheme> {
  const given = memberOf(memberOf(document.root, 'components'), 'securitySchemes')
  const schemes = new Map<string, SecurityScheme>()
  if (!isObject(given)) return schemes
  for (const [id, one] of Object.entries(given).slice(0, MAX_ALTERNATIVES)) {
    const scheme = schemeOf(id, resolved(document, one))
    if (scheme !== undefined) schemes.set(id, scheme)
  }
  return schemes
}

function schemeOf(id: string, given: unknown): SecurityScheme | undefined {
  const [type, name, place, scheme] = ['type', 'name', 'in', 'scheme'].map((key) => memberOf(given, key))
  if (type === 'apiKey' && typeof name === 'string') {
    if (place !== 'header' && place !== 'query' && place !== 'cookie') return undefined
    return { id, kind: 'apiKey', place, name }
  }
  if (type === 'oauth2' || type === 'openIdConnect') return { id, kind: 'bearer' }
  const http = type === 'http' ? String(scheme).toLowerCase() : undefined
  return http === 'bearer' || http === 'basic' ? { id, kind: http } : undefined
}
