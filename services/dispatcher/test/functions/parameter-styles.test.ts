import { describe, expect, test } from '@jest/globals'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'
import { askSpec } from './ask-spec.ts'

const server = { url: 'https://api.example' }
const specOf = (parameters: object[], { path = '/a', openapi = '3.1.0', more = {}, item = {} } = {}) =>
  JSON.stringify({
    ...{ openapi, servers: [server] },
    paths: { [path]: { ...item, get: { operationId: 'act', parameters, ...more } } },
  })
const urlOf = (spec: string, args: object) => {
  const result = askSpec(spec, 'act', args)
  if (result.kind !== 'request') throw new Error(JSON.stringify(result))
  return result.request.url.slice(server.url.length)
}
const color = { string: 'blue', array: ['blue', 'black'], object: { R: 100, G: 200 } }
const at = (place: string, style: string, explode: boolean, more = {}) => ({
  ...{ name: 'color', in: place, required: true, style, explode, schema: {} },
  ...more,
})

describe('a parameter is written as OpenAPI says of its style', () => {
  test.each([
    ['simple', false, ['/blue', '/blue,black', '/R,100,G,200']],
    ['simple', true, ['/blue', '/blue,black', '/R=100,G=200']],
    ['label', false, ['/.blue', '/.blue,black', '/.R,100,G,200']],
    ['label', true, ['/.blue', '/.blue.black', '/.R=100.G=200']],
    ['matrix', false, ['/;color=blue', '/;color=blue,black', '/;color=R,100,G,200']],
    ['matrix', true, ['/;color=blue', '/;color=blue;color=black', '/;R=100;G=200']],
  ])('in a path: %s, explode %s', (style, explode, paths) => {
    const spec = specOf([at('path', style, explode)], { path: '/{color}' })
    expect(Object.values(color).map((value) => urlOf(spec, { color: value }))).toEqual(paths)
  })

  test.each([
    ['form', false, ['?color=blue', '?color=blue,black', '?color=R,100,G,200']],
    ['form', true, ['?color=blue', '?color=blue&color=black', '?R=100&G=200']],
    ['spaceDelimited', false, ['?color=blue', '?color=blue%20black', '?color=R%20100%20G%20200']],
    ['pipeDelimited', false, ['?color=blue', '?color=blue%7Cblack', '?color=R%7C100%7CG%7C200']],
    ['pipeDelimited', true, ['?color=blue', '?color=blue&color=black', '?R=100&G=200']],
  ])('in a query: %s, explode %s', (style, explode, queries) => {
    const spec = specOf([at('query', style, explode)])
    expect(Object.values(color).map((value) => urlOf(spec, { color: value }))).toEqual(
      queries.map((query) => `/a${query}`),
    )
  })

  test('in a cookie, repeated or between commas', () => {
    const cookieOf = (explode: boolean) => {
      const result = askSpec(specOf([at('cookie', 'form', explode)]), 'act', { color: color.array })
      return result.kind === 'request' && result.request.headers.cookie
    }
    expect([cookieOf(true), cookieOf(false)]).toEqual(['color=blue; color=black', 'color=blue,black'])
  })

  test('with what is reserved as it is where allowReserved says so, but nothing that begins another parameter', () => {
    const spec = specOf([at('query', 'form', true, { allowReserved: true })])
    expect(urlOf(spec, { color: 'a/b?c:d@e,f&admin=1#x+y' })).toBe('/a?color=a/b?c:d@e,f%26admin%3D1%23x%2By')
    const path = specOf([at('path', 'simple', false, { allowReserved: true })], { path: '/{color}' })
    expect(urlOf(path, { color: 'a/b' })).toBe('/a%2Fb')
  })

  test('as JSON, or as text, where it has a content', () => {
    const content = (type: string) => ({ name: 'filter', in: 'query', content: { [type]: { schema: {} } } })
    expect(urlOf(specOf([content('application/json')]), { filter: { a: [1] } })).toBe(
      '/a?filter=%7B%22a%22%3A%5B1%5D%7D',
    )
    expect(urlOf(specOf([content('application/vnd.x+json')]), { filter: 'a' })).toBe('/a?filter=%22a%22')
    expect(urlOf(specOf([content('text/plain')]), { filter: 'a b' })).toBe('/a?filter=a%20b')
  })

  test('never out of the path that the spec names, whatever its style', () => {
    for (const style of ['simple', 'label', 'matrix'])
      for (const value of ['..', '', '.', '../../..', ['..', '..']]) {
        const result = askSpec(specOf([at('path', style, true)], { path: '/x/{color}' }), 'act', {
          color: value,
        })
        if (result.kind === 'request') expect(new URL(result.request.url).pathname).toMatch(/^\/x\/./)
      }
  })

  test('without names in a path that are bound', () => {
    const customer = { name: 'customer', in: 'path', style: 'matrix', schema: {}, 'x-parley-value': 'mine' }
    const spec = specOf([customer, at('path', 'matrix', true)], { path: '/{customer}/{color}' })
    const task = {
      kind: 'request',
      workspace: 1,
      key: 'k',
      spec,
      operationId: 'act',
      moduleUrl: 'native:request',
    } as const
    const args = JSON.stringify({ color: { customer: 'maria', Customer: 'maria', a: 1 } })
    const context = { person: {}, thread: { extId: 't' }, channel: { _id: 1 }, workspace: { _id: 1 } }
    expect(runSpecTask({ ...task, args, context }, () => readSpec(spec))).toMatchObject({
      request: { url: 'https://api.example/;customer=mine/;a=1' },
    })
  })
})

describe('of the places where a document says something, the nearest counts', () => {
  test('for servers and parameters', () => {
    const parameter = (description: string) => ({ name: 'p', in: 'query', description, schema: {} })
    const servers = (name: string) => ({ servers: [{ url: `https://${name}.example` }] })
    const hostOf = (more: object, item: object) => {
      const result = askSpec(specOf([], { more: { parameters: [], ...more }, item }), 'act', {})
      return result.kind === 'request' && new URL(result.request.url).host
    }
    expect([hostOf({}, {}), hostOf({}, servers('item')), hostOf(servers('own'), servers('item'))]).toEqual([
      ...['api.example', 'item.example', 'own.example'],
    ])
    const spec = specOf([parameter('own')], {
      item: { parameters: [parameter('item'), { ...parameter('other'), name: 'q' }] },
    })
    const result = runSpecTask({ kind: 'tools', workspace: 1, key: 'k', spec }, () => readSpec(spec))
    expect(result.kind === 'tools' && result.tools[0]?.inputSchema.properties).toEqual({
      ...{ p: { description: 'own' }, q: { description: 'other' } },
    })
  })
})

describe('one of three operations that can not be offered', () => {
  const fine = (id: string) => ({ get: { operationId: id } })
  const query = (parameter: object) => ({ parameters: [{ name: 'p', in: 'query', ...parameter }] })
  test.each<[string, object]>([
    ['an unknown style', query({ style: 'tabDelimited' })],
    ['a header that is the connection’s', { parameters: [{ name: 'Host', in: 'header', schema: {} }] }],
    ['a reference to nothing', query({ schema: { $ref: '#/components/schemas/No' } })],
    ['a reference to elsewhere', query({ schema: { $ref: 'other.yaml#/A' } })],
    ['a pattern that may take for ever', query({ schema: { pattern: '(?=a)b' } })],
    ['no schema', query({ schema: 5 })],
    ['parameters that are none', { parameters: 'none' }],
    ['a body of an unknown type', { requestBody: { content: { 'application/xml': {} } } }],
    ['a body of nothing', { requestBody: {} }],
    [
      'a dynamic reference',
      { requestBody: { content: { 'application/json': { schema: { $dynamicRef: '#a' } } } } },
    ],
    ['no server', { servers: [{ url: 'ftp://x' }] }],
  ])('stops no other: %s', (_name, broken) => {
    const paths = { '/a': fine('a'), '/b': { post: { operationId: 'b', ...broken } }, '/c': fine('c') }
    const spec = JSON.stringify({ openapi: '3.1.0', servers: [server], paths })
    const result = runSpecTask({ kind: 'tools', workspace: 1, key: 'k', spec }, () => readSpec(spec))
    if (result.kind !== 'tools') throw new Error(JSON.stringify(result))
    const names = result.tools.map(({ name }) => name)
    expect(names.filter((name) => name !== 'b')).toEqual(['a', 'c'])
    expect(names.includes('b')).toBe(result.broken.length === 0)
    expect(askSpec(spec, 'a', {}).kind).toBe('request')
  })
})
