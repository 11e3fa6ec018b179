import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isCanonical } from '../src/listener.ts'
import { systemForTests } from './gateway-system.ts'

const REFUSED = [
  '/rest/channels/../users',
  '/rest/channels/./1',
  '/rest/channels/..',
  '/rest//channels',
  '//rest/channels',
  '/rest/channels/%2e%2e/users',
  '/rest/channels/%2E%2e',
  '/rest/channels%2f1',
  '/rest/channels%5C1',
  '/rest/channels\\1',
  '/rest/channels/1%00',
  '/rest/channels/%0d%0aX:1',
  '/rest/%61ctions',
  '/rest/channels/%7e',
  '/rest/channels/%zz',
  '/rest/channels/%',
  '/rest/channels/%ff',
  '/rest/channels/a|b',
  '/rest/channels#x',
  '/rest/channels?a#x',
  'http://127.0.0.1/rest/channels',
  '*',
]
const TAKEN = [
  '/rest/configs/a%20b',
  '/rest/configs/user%40example.com',
  '/rest/configs/%C3%A9%3A1',
  '/rest/configs/%c3%a9',
  "/rest/configs/a-._~!$&'()*+,;=:@",
  '/rest/configs/100%25',
  '/rest/configs/..a',
  '/rest/configs/...',
  '/rest/channels?x=%2e%2e/../',
]

describe('isCanonical', () => {
  test.each(REFUSED)('refuses %s', (url) => expect(isCanonical(url)).toBe(false))
  test.each(TAKEN)('takes %s', (url) => expect(isCanonical(url)).toBe(true))

  test('takes every segment that encodeURIComponent makes, but for what hides dots and slashes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), (key) => {
        fc.pre(key.isWellFormed() && !/^\.{1,2}$|[/\\\p{Cc}]/u.test(key))
        expect(isCanonical(`/rest/configs/${encodeURIComponent(key)}`)).toBe(true)
      }),
    )
  })

  test('takes nothing that a URL parser would change', () => {
    let taken = 0
    fc.assert(
      fc.property(fc.webPath(), fc.constantFrom('', '/..', '/./x', '//y', '/%2e'), (path, tail) => {
        const url = `/a${path}${tail}`
        if (!isCanonical(url)) return
        taken++
        expect(new URL(url, 'http://x.y').pathname).toBe(url)
      }),
    )
    expect(taken).toBeGreaterThan(0)
  })
})

describe('over the wire', () => {
  const system = systemForTests()
  let token: string
  beforeAll(async () => {
    token = (await system.register()).accessToken
  })

  const get = (target: string) =>
    system.raw(
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )

  test.each(REFUSED)('%s is 400', async (target) => {
    const response = await get(target)
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(response).toContain('"code":"invalid_path"')
    expect(system.backends.configuration.requests).toEqual([])
  })

  test('what is taken arrives untouched', async () => {
    for (const target of TAKEN) expect(await get(target)).toMatch(/^HTTP\/1\.1 200 /)
    expect(system.backends.configuration.requests.map(({ url }) => url)).toEqual(TAKEN)
  })
})
