import { describe, expect, test } from '@jest/globals'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'
import { askSpec } from './ask-spec.ts'

const refunds = (openapi = '3.1.0') => `
openapi: ${openapi}
info: { title: Refunds, version: '1' }
servers: [{ url: 'https://{region}.pay.example/v1/', variables: { region: { default: eu } } }]
paths:
  /orders/{order}/refunds/{n}:
    parameters:
      - { name: order, in: path, required: true, schema: { $ref: '#/components/schemas/OrderId' } }
      - { name: n, in: path, required: true, schema: { type: integer } }
    post:
      operationId: refund
      parameters:
        - { name: dryRun, in: query, schema: { type: boolean } }
        - { name: tags, in: query, schema: { type: array, items: { type: string } } }
        - { name: ids, in: query, explode: false, schema: { type: array, items: { type: integer } } }
        - { name: filter, in: query, style: deepObject, schema: { type: object } }
        - { name: X-Reason, in: header, schema: { type: string, maxLength: 20 } }
        - { name: Authorization, in: header, required: true, schema: { type: string } }
        - { name: Idempotency-Key, in: header, required: true, schema: { type: string } }
        - { name: session, in: cookie, schema: { type: string } }
      requestBody:
        required: true
        content:
          application/json:
            schema: { $ref: '#/components/schemas/Refund' }
  /plain:
    get: { operationId: plain }
    put:
      operationId: whole
      requestBody: { content: { application/merge-patch+json: { schema: { type: array, items: { type: integer } } } } }
  /tree:
    post:
      operationId: plant
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Tree' } } } }
  /elsewhere:
    servers: [{ url: 'http://other.example:8080' }]
    get: { operationId: elsewhere }
components:
  schemas:
    OrderId: { type: string, minLength: 1 }
    Refund:
      type: object
      required: [amount, customer]
      additionalProperties: false
      properties:
        amount: { type: number, minimum: 0 }
        note: { type: string }
        customer: { type: object, required: [name], properties: { name: { type: string }, 'a/b': { type: string } } }
    Tree:
      type: object
      properties: { leaf: { type: integer }, branches: { type: array, items: { $ref: '#/components/schemas/Tree' } } }
`
const args = { order: 'a/b ç', n: 2, amount: 5, customer: { name: 'Ana' } }
const ask = (operationId: string, given: object, spec = refunds()) => askSpec(spec, operationId, given)

describe('a call that fits', () => {
  test('goes to the server with path, query, headers, cookies and body in their places', () => {
    const all = {
      ...args,
      dryRun: true,
      tags: ['x', 'y&z'],
      ids: [1, 2],
      filter: { a: 1, b: 'c' },
      'X-Reason': 'late',
      session: 's;1',
      note: 'olá',
    }
    expect(ask('refund', all)).toEqual({
      kind: 'request',
      isRepeatable: true,
      isKeyed: true,
      request: {
        method: 'POST',
        url:
          'https://eu.pay.example/v1/orders/a%2Fb%20%C3%A7/refunds/2' +
          '?dryRun=true&tags=x&tags=y%26z&ids=1,2&filter%5Ba%5D=1&filter%5Bb%5D=c',
        headers: { 'X-Reason': 'late', cookie: 'session=s%3B1', 'content-type': 'application/json' },
        body: '{"amount":5,"customer":{"name":"Ana"},"note":"olá"}',
      },
      security: [],
    })
  })

  test.each([
    ['without a body', 'plain', {}, { method: 'GET', url: 'https://eu.pay.example/v1/plain', headers: {} }],
    ["to its path's own server", 'elsewhere', {}, { url: 'http://other.example:8080/elsewhere' }],
    [
      'whose body is no object',
      'whole',
      { body: [1, 2] },
      { body: '[1,2]', headers: { 'content-type': 'application/merge-patch+json' } },
    ],
    ['whose body may be left out', 'whole', {}, { headers: {} }],
    [
      'of a schema that refers to itself',
      'plant',
      { branches: [{ branches: [{ leaf: 1 }] }] },
      { method: 'POST' },
    ],
  ])('%s', (_name, operation, given, expected) => {
    expect(ask(operation, given)).toMatchObject({ kind: 'request', request: expected })
  })
})

describe('arguments that do not fit are named', () => {
  test.each([
    ['a parameter that is missing', 'refund', { ...args, order: undefined }, '/order', 'is missing'],
    ['a parameter of another type', 'refund', { ...args, n: 'two' }, '/n', 'breaks "type" of the schema'],
    [
      'a header that is too long',
      'refund',
      { ...args, 'X-Reason': 'x'.repeat(21) },
      '/X-Reason',
      'breaks "maxLength" of the schema',
    ],
    [
      'a header with a line break',
      'refund',
      { ...args, 'X-Reason': 'a\r\nb: c' },
      '/X-Reason',
      'has characters that no header can hold',
    ],
    [
      'a field of the body that is missing',
      'refund',
      { ...args, amount: undefined },
      '/amount',
      'is missing',
    ],
    ['one deep in the body', 'refund', { ...args, customer: {} }, '/customer/name', 'is missing'],
    [
      'one of another type',
      'refund',
      { ...args, customer: { name: 1 } },
      '/customer/name',
      'breaks "type" of the schema',
    ],
    [
      'one whose name has a slash',
      'refund',
      { ...args, customer: { name: '', 'a/b': 1 } },
      '/customer/a~1b',
      'breaks "type" of the schema',
    ],
    ['one out of range', 'refund', { ...args, amount: -1 }, '/amount', 'breaks "minimum" of the schema'],
    ['one that the schema does not know', 'refund', { ...args, extra: 1 }, '/extra', 'is not allowed'],
    [
      'one that the operation does not know',
      'plain',
      { extra: 1 },
      '/extra',
      'is not known to the operation',
    ],
    [
      'a path parameter that leads up',
      'refund',
      { ...args, order: '..' },
      '/order',
      'makes a path that leads elsewhere',
    ],
    [
      'an empty path parameter',
      'refund',
      { ...args, order: '' },
      '/order',
      'breaks "minLength" of the schema',
    ],
    [
      'one deep in a schema that refers to itself',
      'plant',
      { branches: [{ leaf: 'x' }] },
      '/branches/0/leaf',
      'breaks "type" of the schema',
    ],
    ['all of a body that is no object', 'whole', { body: ['x'] }, '/body/0', 'breaks "type" of the schema'],
  ])('%s', (_name, operation, given, path, reason) => {
    expect(ask(operation, given)).toEqual({ kind: 'bad_args', path, reason })
  })
})

describe("OpenAPI 3.0's own dialect", () => {
  const spec = `
openapi: 3.0.3
servers: [{ url: 'https://x.example' }]
paths:
  /a:
    post:
      operationId: a
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                note: { type: string, nullable: true }
                price: { type: number, minimum: 0, exclusiveMinimum: true }
                count: { type: integer, maximum: 3, exclusiveMaximum: false }
                any: { $ref: '#/components/schemas/Any', type: string }
components: { schemas: { Any: {} } }
`
  test.each([
    [{ note: null, price: 0.1, count: 3, any: 5 }, 'request'],
    [{ note: 5 }, 'bad_args'],
    [{ price: 0 }, 'bad_args'],
    [{ count: 4 }, 'bad_args'],
  ])('%j', (given, kind) => {
    expect(ask('a', given, spec).kind).toBe(kind)
  })
})

describe('a server', () => {
  const urlOf = (servers: object[] | undefined, moduleUrl: string) => {
    const paths = { '/a': { get: { operationId: 'a' } } }
    const spec = JSON.stringify({ openapi: '3.0.3', paths, ...(servers && { servers }) })
    const task = {
      kind: 'request',
      workspace: 1,
      key: 'k',
      spec,
      operationId: 'a',
      args: '{}',
      moduleUrl,
    } as const
    const result = runSpecTask(task, () => readSpec(spec))
    return result.kind === 'request' ? result.request.url : result
  }
  const BASE = 'native:request?server=https://shop.example/api/openapi.yaml'
  const tenant = { url: 'https://{tenant}.desk.example/v2', variables: { tenant: { default: 'demo' } } }

  test.each([
    [
      'that is relative is of the base that the module names',
      [{ url: '/v1/' }],
      BASE,
      'https://shop.example/v1/a',
    ],
    ['that is relative to its document, too', [{ url: 'v1' }], BASE, 'https://shop.example/api/v1/a'],
    ['that is absolute stays', [{ url: 'http://other.example' }], BASE, 'http://other.example/a'],
    [
      'that is not named is the base',
      undefined,
      'native:request?server=https://x.example/v1',
      'https://x.example/v1/a',
    ],
    ['with a variable has its default', [tenant], 'native:request', 'https://demo.desk.example/v2/a'],
    [
      'with a variable has what the module says',
      [tenant],
      'native:request?tenant=acme',
      'https://acme.desk.example/v2/a',
    ],
  ])('%s', (_what, servers, moduleUrl, url) => {
    expect(urlOf(servers, moduleUrl)).toBe(url)
  })

  test.each(['native:request', 'native:request?server=file:///etc', 'native:request?server=/v1'])(
    'that is relative makes no URL with %s',
    (moduleUrl) => {
      const reason = 'has a server without an http(s) URL'
      expect(urlOf([{ url: '/v1' }], moduleUrl)).toEqual({ kind: 'bad_spec', reason })
    },
  )
})
