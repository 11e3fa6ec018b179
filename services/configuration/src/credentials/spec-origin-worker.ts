import { load } from 'js-yaml'

/** Longer specs are not worked with. */
const MAX_SPEC_CHARACTERS = 512 * 1024

/**
 * The origin of an OpenAPI document's first server, its variables at their defaults, exactly as the dispatcher reads it:
 * that is what credentials are sent to. Undefined where there is none.
 */
export default function originOf(spec: string): string | undefined {
  if (spec.length > MAX_SPEC_CHARACTERS) return undefined
  const root = parsed(spec)
  if (!/^3(\.|$)/.test(String(memberOf(root, 'openapi')))) return undefined
  const servers = memberOf(root, 'servers')
  const server = Array.isArray(servers) ? servers[0] : undefined
  const template = memberOf(server, 'url')
  if (typeof template !== 'string') return undefined
  const variables = memberOf(server, 'variables')
  const url = template.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) =>
    String(memberOf(memberOf(variables, name), 'default') ?? ''),
  )
  return URL.canParse(url) && /^https?:/.test(url) ? new URL(url).origin : undefined
}

function parsed(text: string): unknown {
  try {
    return load(text)
  } catch {
    return undefined
  }
}

function memberOf(value: unknown, key: string): unknown {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMapping && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}
