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
