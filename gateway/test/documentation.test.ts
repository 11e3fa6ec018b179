import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { errors } from '@parley/shared/errors'
import { startSystem, systemForTests } from './gateway-system.ts'

const system = systemForTests()

const get = (path: string, init: RequestInit = {}) => fetch(system.url + path, init)

describe('the document', () => {
  test('is served without a token as it was made, and 304 while it has not changed', async () => {
    const response = await get('/openapi.json')
    const etag = response.headers.get('etag') ?? ''
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(await response.text()).toBe(
      readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
    )
    const again = await get('/openapi.json', { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('is served as OpenAPI 3.0 too, with the same operations', async () => {
    const response = await get('/openapi-3.0.json')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    const rendered = (await response.json()) as { openapi: string; paths: object }
    const { paths } = (await (await get('/openapi.json')).json()) as { paths: object }
    expect([rendered.openapi, Object.keys(rendered.paths)]).toEqual(['3.0.3', Object.keys(paths)])
  })

  test('is compressed for callers that accept gzip, and plain for others', async () => {
    const zipped = await get('/openapi.json', { headers: { 'accept-encoding': 'gzip' } })
    const plain = await get('/openapi.json', { headers: { 'accept-encoding': 'identity' } })
    expect([zipped.headers.get('content-encoding'), plain.headers.get('content-encoding')]).toEqual([
      'gzip',
      null,
    ])
    const sizes = [zipped, plain].map(({ headers }) => Number(headers.get('content-length')))
    expect(sizes[0]).toBeLessThan((sizes[1] ?? 0) / 8)
    expect(await zipped.text()).toBe(await plain.text())
  })
})

describe('the pages of errors', () => {
  test('explain every code, and are where problems say', async () => {
    const index = await (await get('/docs/errors')).text()
    for (const code of Object.keys(errors)) {
      const page = await get(`/docs/errors/${code}`)
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(await page.text()).toContain(`<code>${code}</code>`)
      expect(index).toContain(`href="/docs/errors/${code}"`)
    }
    const refused = await get('/rest/channels')
    const { type } = (await refused.json()) as { type: string }
    expect(new URL(type, refused.url).href).toBe(`${system.url}/docs/errors/unauthenticated`)
  })

  test('of a code that there is none of is not there', async () => {
    expect((await get('/docs/errors/nothing')).status).toBe(404)
  })
})

describe('the page', () => {
  test('loads everything from the gateway, under a policy without exceptions', async () => {
    const page = await get('/docs')
    const html = await page.text()
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    const needed = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '')
    expect(needed.length).toBeGreaterThan(4)
    for (const path of needed) {
      const response = await get(path)
      expect([path, response.status, response.headers.get('x-content-type-options')]).toEqual([
        path,
        200,
        'nosniff',
      ])
      expect((await response.text()).length).toBeGreaterThan(50)
    }
    // Nothing in the page itself is a script or a style.
    expect(html).not.toMatch(/<script>|<style| style=| on\w+=/)
  })

  test('has nothing else below it, and takes no other method', async () => {
    expect((await get('/docs/')).status).toBe(404)
    for (const path of [
      '/docs/package.json',
      '/docs/swagger-ui.js',
      '/docs/constructor',
      '/docs/../package.json',
    ]) {
      expect((await get(path)).status).toBe(404)
    }
    const post = await get('/docs', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const head = await get('/docs', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

test('a caller that loads pages too often gets 429', async () => {
  const strict = await startSystem({ RATE_ADDRESS_PER_MINUTE: '2' })
  try {
    const ask = () =>
      fetch(`${strict.url}/docs`).then(({ status, headers }) => [status, headers.has('retry-after')])
    expect([await ask(), await ask(), await ask()]).toEqual([
      [200, false],
      [200, false],
      [429, true],
    ])
  } finally {
    await strict.close()
  }
})
