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
const LEAKING = new Set(['server', 'x-powered-by'])

// The body of these is sent in chunks on a reused connection when it has no length; that of the others stays
// framed by its own header, because without one it would run into the next request.
const CHUNKED_BY_DEFAULT = new Set(['POST', 'PUT', 'PATCH'])

interface Outgoing {
  requestId: string
  address: string
  internalToken: string | undefined
}

/**
 * The headers for a service: the caller's but for what is not theirs to say (hop-by-hop fields and those that
 * `Connection` names, everything about where the request came from, and names with an underscore, which some readers
 * take for a hyphen), and the gateway's own: where the request came from, its id, and on whose behalf it is made.
 */
export function outgoingHeaders(
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  { requestId, address, internalToken }: Outgoing,
): IncomingHttpHeaders {
  const named = namedByConnection(headers)
  const outgoing: IncomingHttpHeaders = {}
  for (const name in headers)
    if (isTheirs(name) && (!named.includes(name) || END_TO_END.has(name))) outgoing[name] = headers[name]
  if (outgoing['transfer-encoding'] === 'chunked' && CHUNKED_BY_DEFAULT.has(method))
    delete outgoing['transfer-encoding']
  outgoing['x-request-id'] = requestId
  outgoing['x-forwarded-for'] = address
  outgoing['x-forwarded-proto'] = 'http'
  if (headers.host !== undefined) outgoing['x-forwarded-host'] = headers.host
  if (internalToken !== undefined) outgoing.authorization = `Bearer ${internalToken}`
  return outgoing
}

const isTheirs = (name: string): boolean =>
  !HOP_BY_HOP.has(name) &&
  !OURS.has(name) &&
  !name.includes('_') &&
  !OUR_PREFIXES.some((prefix) => name.startsWith(prefix))

/** Takes out of a service's headers what concerns only its connection, or tells what it runs on. */
export function stripResponseHeaders(headers: IncomingHttpHeaders): void {
  const named = namedByConnection(headers)
  for (const name in headers)
    if (HOP_BY_HOP.has(name) || LEAKING.has(name) || (named.includes(name) && !END_TO_END.has(name)))
      delete headers[name]
}

function namedByConnection({ connection }: IncomingHttpHeaders): string[] {
  return connection === undefined ? [] : connection.split(',').map((name) => name.trim().toLowerCase())
}
