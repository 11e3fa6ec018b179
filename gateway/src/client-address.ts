import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP, isIPv6 } from 'node:net'

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

/** By what an address is counted: IPv6 by its /64, since one caller may have all of it. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
