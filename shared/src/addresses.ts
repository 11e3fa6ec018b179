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
