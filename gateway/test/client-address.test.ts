import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { addressKey, addressRanges } from '@parley/shared/addresses'
import { clientAddress } from '../src/gatekeeper.ts'

const trusted = addressRanges.parse('10.0.0.0/8, fd00::/8')
const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

describe('clientAddress', () => {
  test.each([
    ['203.0.113.1', undefined, '203.0.113.1'],
    ['203.0.113.1', '6.6.6.6', '203.0.113.1'],
    ['::ffff:203.0.113.1', undefined, '203.0.113.1'],
    ['10.1.2.3', '203.0.113.1', '203.0.113.1'],
    ['::ffff:10.1.2.3', '6.6.6.6, 203.0.113.1', '203.0.113.1'],
    ['10.1.2.3', '6.6.6.6, 203.0.113.1, 10.9.9.9', '203.0.113.1'],
    ['fd12::1', '2001:db8::1', '2001:db8::1'],
    ['10.1.2.3', 'nonsense', '10.1.2.3'],
    ['10.1.2.3', undefined, '10.1.2.3'],
  ])('from %s with X-Forwarded-For %s is %s', (remote, forwarded, address) => {
    expect(clientAddress(request(remote, forwarded), trusted)).toBe(address)
  })
})

test.each([
  ['203.0.113.1', '203.0.113.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:0001::6', '2001:db8:1:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

test.each(['10.0.0.0', '10.0.0.0/33', 'x/8', '10.0.0.0/-1', 'fd00::/129'])('%s is no range', (text) => {
  expect(addressRanges.safeParse(text).success).toBe(false)
})
