import { expect, test } from '@jest/globals'
import { moduleUrlOf, readSpec } from '../src/setup/spec-operations.ts'

const document = (more: object) =>
  JSON.stringify({ openapi: '3.1.0', info: { title: 'Shop', version: '1' }, ...more })

test('a document says its operations, what has no operationId, and its server', () => {
  const get = { operationId: 'listOrders', summary: 'Orders', tags: ['orders', 7], method: 'x', path: 'y' }
  const paths = { '/orders': { get, post: { summary: 'Makes one' }, parameters: [] } }
  const read = readSpec(document({ servers: [{ url: 'https://shop.example/v1' }], paths }))
  expect(read).toEqual({
    ...{ title: 'Shop', description: '', server: 'https://shop.example/v1' },
    operations: [{ id: 'listOrders', method: 'get', path: '/orders', summary: 'Orders', tags: ['orders'] }],
    unnamed: ['POST /orders'],
  })
  expect(moduleUrlOf(read, 'https://elsewhere.example/openapi.json')).toBe('native:request')
})

test.each([
  ['v1', 'https%3A%2F%2Fshop.example%2Fdocs%2Fopenapi.json'],
  [undefined, 'https%3A%2F%2Fshop.example'],
])('a document whose server is %s has it where it was found, without its query', (url, base) => {
  const read = readSpec(document({ servers: url === undefined ? [] : [{ url }], paths: {} }))
  expect(moduleUrlOf(read, 'https://shop.example/docs/openapi.json?key=secret')).toBe(
    `native:request?server=${base}`,
  )
  expect(moduleUrlOf(read, undefined)).toBe('native:request')
})

test.each([
  ['no YAML', 'a: [', ''],
  ['no document', 'null', undefined],
  ['a list', '[1]', undefined],
  ['paths of another kind', document({ paths: { '/a': null, '/b': { get: 7 } } }), undefined],
])('%s is read without failing', (_name, text, problem) => {
  const read = readSpec(text)
  expect(read.operations).toEqual([])
  if (problem !== undefined) expect(read.problem).toContain('It can’t be read')
})
