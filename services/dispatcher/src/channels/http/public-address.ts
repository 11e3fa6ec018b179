import { BlockList, isIPv6 } from 'node:net'

/**
 * What is not globally reachable, by the IANA registries of special-purpose addresses, and what leads to such an address
 * (translation, tunnels); besides 168.63.129.16, where Azure has its host services.
 */
const SPECIAL_V4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24'],
  ...['192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
]
const GLOBAL_V6 = '2000::/3'
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']
const MAPPED_V6 = '::ffff:0:0/96'

const specialV4 = listOf(SPECIAL_V4)
const specialV6 = listOf(SPECIAL_V6)
const globalV6 = listOf([GLOBAL_V6])
const mappedV6 = listOf([MAPPED_V6])

/** True if an address (as DNS or the URL parser write it) is one that anybody on the internet can reach. */
export function isPublicAddress(address: string): boolean {
  if (!isIPv6(address)) return !specialV4.check(address)
  // An IPv4 address in the form of an IPv6 one is looked up as what it is.
  if (mappedV6.check(address, 'ipv6')) return !specialV4.check(address, 'ipv6')
  return globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6')
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4')
  }
  return list
}
