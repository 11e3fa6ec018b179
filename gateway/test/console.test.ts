import { beforeAll, describe, expect, test } from '@jest/globals'
import { buildConsole } from '@parley/console/build'
import { systemForTests } from './gateway-system.ts'

beforeAll(() => buildConsole())
const system = systemForTests()

const get = (path: string, init: RequestInit = {}) =>
  fetch(system.url + path, { redirect: 'manual', ...init })
const HTML = 'text/html,application/xhtml+xml;q=0.9'

describe('the page', () => {
  test('stands at every path below /console, under a policy without exceptions, and is asked for each time', async () => {
    const responses = await Promise.all(
      ['/console', '/console/messages', '/console/channels/1'].map((path) => get(path)),
    )
    const [first] = responses
    const texts = await Promise.all(responses.map((response) => response.text()))
    expect(new Set(texts).size).toBe(1)
    expect(first?.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(first?.headers.get('cache-control')).toBe('no-cache')
    const policy = first?.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    expect(policy).toMatch(/frame-ancestors 'none'/)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    const again = await get('/console', { headers: { 'if-none-match': first?.headers.get('etag') ?? '' } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('names files that may be cached for good, compressed for those who take it', async () => {
    const html = await (await get('/console')).text()
    const files = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    )
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const path of files) {
      const plain = await get(path, { headers: { 'accept-encoding': 'identity' } })
      expect([path, plain.status, plain.headers.get('cache-control')]).toEqual([
        path,
        200,
        'public, max-age=31536000, immutable',
      ])
      const text = await plain.text()
      for (const encoding of ['br', 'gzip']) {
        const packed = await get(path, { headers: { 'accept-encoding': encoding } })
        expect(packed.headers.get('content-encoding')).toBe(encoding)
        expect(await packed.text()).toBe(text)
      }
    }
  })

  test('has no other files, and takes no other method', async () => {
    for (const path of ['/console/assets/main.tsx', '/console/assets/constructor', '/console/assets/'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
    const post = await get('/console', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const head = await get('/console', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

test('/ leads browsers to the console, and is not found for programs', async () => {
  const browser = await get('/', { headers: { accept: HTML } })
  expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console'])
  expect((await get('/', { headers: { accept: 'application/json' } })).status).toBe(404)
  expect((await get('/', { headers: { accept: '*/*' } })).status).toBe(404)
})
