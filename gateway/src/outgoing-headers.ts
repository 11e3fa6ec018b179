import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

const HOP_BY_HOP = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'http2-settings',
  'proxy-authenticate',
  'proxy-authorization',
])
const OURS = new Set(['forwarded', 'x-real-ip', 'authorization'])
const OUR_PREFIXES = ['x-forwarded-', 'x-internal-']
// What frames or addresses a message is for every hop, whatever the Connection header says (RFC 9110, 7.6.1).
const END_TO_END = new Set(['content-length', 'transfer-encoding', 'host'])
const LEAKING = ['server', 'x-powered-by']

// The body of these is sent in chunks on a kept connection when it has no length; that of the others stays
// framed by its own header, because without one it would run into the next request.
const CHUNKED_BY_DEFAULT = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Takes out of the caller's headers what is not theirs to say: hop-by-hop fields and those that `Connection`
 * names, everything about where the request came from, and names with an underscore, which some readers
 * take for a hyphen.
 */
export function stripHeaders({ method = '', headers }: IncomingMessage): void {
  if (headers['transfer-encoding'] === 'chunked' && CHUNKED_BY_DEFAULT.has(method))
    delete headers['transfer-encoding']
  const named = namedByConnection(headers)
  for (const name in headers) {
    if (
      HOP_BY_HOP.has(name) ||
      OURS.has(name) ||
      name.includes('_') ||
      OUR_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
      (named.includes(name) && !END_TO_END.has(name))
    ) {
      delete headers[name]
    }
  }
}

interface Outgoing {
  requestId: string
  address: string
  internalToken: string | undefined
}

/** Puts the gateway's own headers in: where the request came from, its id, and on whose behalf it is made. */
export function setHeaders(req: IncomingMessage, { requestId, address, internalToken }: Outgoing): void {
  const { headers } = req
  headers['x-request-id'] = requestId
  headers['x-forwarded-for'] = address
  headers['x-forwarded-proto'] = 'http'
  if (headers.host !== undefined) headers['x-forwarded-host'] = headers.host
  if (internalToken !== undefined) headers.authorization = `Bearer ${internalToken}`
}

/** Takes out of a service's headers what concerns only its connection, or tells what it runs on. */
export function stripResponseHeaders(headers: IncomingHttpHeaders): void {
  const named = namedByConnection(headers).filter((name) => !END_TO_END.has(name))
  for (const name of [...HOP_BY_HOP, ...named, ...LEAKING]) delete headers[name]
}

function namedByConnection({ connection }: IncomingHttpHeaders): string[] {
  return connection === undefined ? [] : connection.split(',').map((name) => name.trim().toLowerCase())
}
