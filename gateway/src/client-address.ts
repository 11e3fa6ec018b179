import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { z } from 'zod'

/** A list of address ranges (`10.0.0.0/8,fd00::/8`). */
export const addressRanges = z.string().transform((text, context): BlockList => {
  const list = new BlockList()
  for (const range of text.split(',').filter((part) => part.trim() !== '')) {
    const [address = '', prefix = ''] = range.trim().split('/')
    const bits = isIPv6(address) ? 128 : 32
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > bits) {
      context.addIssue({ code: 'custom', message: 'is not a list of address ranges such as 10.0.0.0/8' })
      return z.NEVER
    }
    list.addSubnet(address, Number(prefix), bits === 128 ? 'ipv6' : 'ipv4')
  }
  return list
})

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
