import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'

/**
 * Where a request comes from: the other end of the connection, or, when that is a proxy that is trusted, the
 * nearest address in `X-Forwarded-For` that is not. An untrusted caller can't choose it.
 */
export function clientAddress(req: IncomingMessage, trusted: BlockList): string {
  let address = plain(req.socket.remoteAddress ?? '')
  if (trusted.rules.length === 0) return address
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',')
  while (isTrusted(address, trusted)) {
    const before = plain(forwarded.pop()?.trim() ?? '')
    if (isIP(before) === 0) break
    address = before
  }
  return address
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
