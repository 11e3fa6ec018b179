const MODULE = 'native:request'
/** No server with a longer URL is called. */
const MAX_CHARACTERS = 8 * 1024

/** Where an action of module `native:request` calls the servers of its spec. */
export interface NativeServers {
  /** The base of a server's relative URL, which a spec without servers calls. */
  base?: string
  /** Of the variables in URLs of servers, in place of their defaults. */
  variables: ReadonlyMap<string, string>
}

/**
 * The servers that a module names: `native:request?server=https://shop.example/v1&tenant=acme` has a base, and a variable.
 * Undefined for another module.
 */
export function nativeServers(moduleUrl: string): NativeServers | undefined {
  const [module, query = ''] = moduleUrl.split('?', 2)
  if (module !== MODULE) return undefined
  const variables = new Map(new URLSearchParams(query))
  const base = variables.get('server')
  variables.delete('server')
  return { variables, ...(base !== undefined && { base }) }
}

/**
 * The http(s) URL of a server; `too_long` beyond 8,192 characters, and undefined where it makes none. One variable may stand
 * in it any number of times.
 */
export function serverUrlOf(
  template: string,
  { base, variables }: NativeServers,
  defaultOf: (variable: string) => string,
): URL | 'too_long' | undefined {
  let room = MAX_CHARACTERS - template.length
  const text = template.slice(0, MAX_CHARACTERS).replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = variables.get(name) ?? defaultOf(name)
    room -= value.length
    return room < 0 ? '' : value
  })
  if (room < 0) return 'too_long'
  if (!URL.canParse(text, base)) return undefined
  const url = new URL(text, base)
  return /^https?:$/.test(url.protocol) ? url : undefined
}
