import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'

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
  'transfer-encoding',
])
const OURS = new Set(['forwarded', 'x-real-ip', 'authorization', 'host'])
const OUR_PREFIXES = ['x-forwarded-', 'x-internal-']
// Whatever the Connection header says (RFC 9110, 7.6.1): without its length a body would be framed in another way.
const LENGTH = 'content-length'
/** The header in which a service reports its act, for the audit log. */
export const ACT = 'x-internal-act'
const LEAKING = new Set(['server', 'x-powered-by'])

interface Outgoing {
  requestId: string
  address: string
  internalToken: string | undefined
}

/**
 * The headers for a service: the caller's but for what is not theirs to say (hop-by-hop fields and those that
 * `Connection` names, how a body without a length is framed, everything about where the request came from, and names with an underscore, which some readers
 * take for a hyphen), and the gateway's own: where the request came from, its id, and on whose behalf it is made.
 */
export function outgoingHeaders(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  { requestId, address, internalToken }: Outgoing,
): IncomingHttpHeaders {
  const named = namedByConnection(headers)
  const outgoing: IncomingHttpHeaders = {}
  for (const name in headers)
    if (isTheirs(name) && (name === LENGTH || !named.includes(name))) outgoing[name] = headers[name]
  outgoing['x-request-id'] = requestId
  outgoing['x-forwarded-for'] = address
  outgoing['x-forwarded-proto'] = socket instanceof TLSSocket ? 'https' : 'http'
  if (headers.host !== undefined) outgoing['x-forwarded-host'] = headers.host
  if (internalToken !== undefined) outgoing.authorization = `Bearer ${internalToken}`
  return outgoing
}

const isTheirs = (name: string): boolean =>
  !HOP_BY_HOP.has(name) &&
  !OURS.has(name) &&
  !name.includes('_') &&
  !OUR_PREFIXES.some((prefix) => name.startsWith(prefix))

/** Sets on `res` the headers of a service's response, but for what concerns only its connection or says what it runs on. */
export function setResponseHeaders(res: ServerResponse, headers: IncomingHttpHeaders): void {
  const named = namedByConnection(headers)
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || HOP_BY_HOP.has(name) || LEAKING.has(name) || name === ACT) continue
    if (name === LENGTH || !named.includes(name))
      res.setHeader(name, name === 'vary' ? withVary(res, value) : value)
  }
  if (headers['cache-control'] === undefined) res.setHeader('cache-control', 'no-store')
}

/** The gateway's own responses vary by `Origin` already. */
const withVary = (res: ServerResponse, value: string | string[]): string =>
  [res.getHeader('vary') ?? [], value].flat().join(', ')

function namedByConnection({ connection }: IncomingHttpHeaders): string[] {
  return connection === undefined ? [] : connection.split(',').map((name) => name.trim().toLowerCase())
}
