import { describe, expect, test } from '@jest/globals'
import { ConfigError, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { isPublicAddress } from '../../src/channels/http/public-address.ts'
import { config } from '../../src/config.ts'

describe('an address of a special-purpose range is not public:', () => {
  // The first and the last of each range; IANA's registries, and what clouds keep for themselves.
  test.each([
    ['this network', '0.0.0.0', '0.255.255.255'],
    ['private use', '10.0.0.0', '10.255.255.255'],
    ['shared address space', '100.64.0.0', '100.127.255.255'],
    ['loopback', '127.0.0.0', '127.255.255.255'],
    ['link-local, with cloud metadata', '169.254.0.0', '169.254.169.254', '169.254.255.255'],
    ['private use', '172.16.0.0', '172.31.255.255'],
    ['IETF protocol assignments', '192.0.0.0', '192.0.0.8', '192.0.0.170', '192.0.0.255'],
    ['documentation', '192.0.2.0', '192.0.2.255', '198.51.100.0', '198.51.100.255'],
    ['AS112 and AMT', '192.31.196.0', '192.52.193.255', '192.175.48.1'],
    ['6to4 relay anycast', '192.88.99.0', '192.88.99.255'],
    ['private use', '192.168.0.0', '192.168.255.255'],
    ['benchmarking', '198.18.0.0', '198.19.255.255'],
    ['documentation', '203.0.113.0', '203.0.113.255'],
    ['multicast', '224.0.0.0', '239.255.255.255'],
    ['reserved, and broadcast', '240.0.0.0', '255.255.255.254', '255.255.255.255'],
    ['Azure’s host services', '168.63.129.16'],
    ['unspecified and loopback', '::', '::1'],
    ['IPv4-compatible', '::7f00:1', '::8.8.8.8', '::a9fe:a9fe'],
    ['IPv4-mapped', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:10.0.0.1', '::ffff:168.63.129.16'],
    ['IPv4-translated', '::ffff:0:7f00:1'],
    ['NAT64', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::808:808'],
    ['local-use NAT64', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
    ['discard-only', '100::', '100::ffff:ffff:ffff:ffff', '100:0:0:1::'],
    ['IETF protocol assignments', '2001::', '2001:1::1', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['benchmarking', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
    ['AMT and AS112', '2001:3::1', '2001:4:112::1', '2620:4f:8000::1'],
    ['ORCHID and DRIP', '2001:10::1', '2001:20::1', '2001:30::1'],
    ['documentation', '2001:db8::', '2001:db8:ffff::', '3fff::', '3fff:fff:ffff::1'],
    ['6to4', '2002::', '2002:7f00:1::', '2002:a9fe:a9fe::1'],
    ['segment routing', '5f00::1'],
    ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fd00:ec2::254'],
    ['link-local', 'fe80::', 'febf:ffff::1'],
    ['site-local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['multicast', 'ff00::', 'ff02::1'],
  ])('%s', (_name, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })

  test('and those beside them are', () => {
    const neighbours = [
      ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
      ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
      ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
      ...['168.63.129.15', '168.63.129.17', '8.8.8.8', '::ffff:8.8.8.8', '2001:200::1', '2001:4860::8888'],
      ...['2606:4700::1111', '2003::1', '2a00:1450::1', '3ffe::1'],
    ]
    expect(neighbours.filter((address) => !isPublicAddress(address))).toEqual([])
  })
})

describe('ALLOWED_PRIVATE_TARGETS', () => {
  const parse = (text: string) =>
    parseConfig(z.object({ ALLOWED_PRIVATE_TARGETS: config.ALLOWED_PRIVATE_TARGETS }), {
      ALLOWED_PRIVATE_TARGETS: text,
    }).ALLOWED_PRIVATE_TARGETS

  test('takes addresses and ranges, and nothing when it is not set', () => {
    const allowed = parse('127.0.0.1, 10.0.0.0/8,fd00::/8,::1')
    const inside = [allowed.check('127.0.0.1'), allowed.check('10.9.9.9'), allowed.check('::1', 'ipv6')]
    expect([...inside, allowed.check('fd00::5', 'ipv6')]).toEqual([true, true, true, true])
    expect([allowed.check('127.0.0.2'), parse('').check('127.0.0.1')]).toEqual([false, false])
  })

  test.each([
    '10.0.0.0/33',
    'localhost',
    '10.0.0',
    '10.0.0.0/',
    '127.0.0.1,oops',
    'fd00::/129',
    '10.0.0.0/8;',
  ])('%s stops the start, and says which key it is', (text) => {
    expect(() => parse(text)).toThrow(ConfigError)
    expect(() => parse(text)).toThrow('ALLOWED_PRIVATE_TARGETS: is not a list of address ranges')
  })
})
