import { describe, expect, test } from '@jest/globals'
import { type CallContext, readBindings } from '@parley/shared/bound-value'
import fc from 'fast-check'
import { parse } from 'qs'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'

const PHONE = '+5511988887777'
const context: CallContext = {
  person: { phone: PHONE, name: 'João', ctx: { customer: 42, 'a b': 'x' } },
  thread: { extId: 'joao' },
  channel: { _id: 3, extId: 'shop' },
  workspace: { _id: 7 },
}
const mine = { 'x-parley-value': '{{person.phone}}' }

const specOf = (operation: object, { path = '/things', schemas = {}, openapi = '3.1.0' } = {}): string =>
  JSON.stringify({
    openapi,
    servers: [{ url: 'https://api.example' }],
    paths: { [path]: { post: { operationId: 'act', ...operation } } },
    components: { schemas },
  })
const bodyOf = (schema: object, type = 'application/json', more = {}) =>
  specOf({ requestBody: { required: true, content: { [type]: { schema } } } }, more)
const configuredBy = (given: object) => {
  const configured = readBindings(given)
  if (!Array.isArray(configured)) throw new Error(JSON.stringify(configured))
  return configured
}
const ask = (spec: string, args: object, { by = {}, of = context, operationId = 'act' } = {}) =>
  runSpecTask(
    {
      ...{ kind: 'request', workspace: 1, key: 'k', spec, operationId, moduleUrl: 'native:request' },
      ...{ args: JSON.stringify(args), configured: configuredBy(by), context: of },
    },
    () => readSpec(spec),
  )
const sent = (...given: Parameters<typeof ask>) => {
  const result = ask(...given)
  if (result.kind !== 'request') throw new Error(JSON.stringify(result))
  return result.request
}
const listed = (spec: string, by = {}) => {
  const configured = configuredBy(by)
  const result = runSpecTask({ kind: 'tools', workspace: 1, key: 'k', spec, configured }, () =>
    readSpec(spec),
  )
  if (result.kind !== 'tools') throw new Error(JSON.stringify(result))
  return result
}
const shown = (spec: string, by = {}) => listed(spec, by).tools[0]?.inputSchema

const parameters = [
  { name: 'customer', in: 'path', required: true, schema: { type: 'string' }, ...mine },
  { name: 'owner', in: 'query', schema: { type: 'string', ...mine } },
  { name: 'X-Owner', in: 'header', schema: { type: 'string' }, ...mine },
  { name: 'session', in: 'cookie', schema: { type: 'string' }, ...mine },
  { name: 'note', in: 'query', schema: { type: 'string' } },
]
const everywhere = specOf({ parameters }, { path: '/customers/{customer}' })

describe('a bound parameter', () => {
  test('is not shown to a model, and has its value wherever it is, whatever the model says', () => {
    expect(shown(everywhere)).toEqual({
      ...{ type: 'object', properties: { note: { type: 'string' } } },
      ...{ required: [], additionalProperties: false },
    })
    const encoded = encodeURIComponent(PHONE)
    const evil = { customer: 'maria', owner: 'maria', 'X-Owner': 'maria', session: 'maria', note: 'n' }
    for (const args of [{ note: 'n' }, evil])
      expect(sent(everywhere, args)).toEqual({
        method: 'POST',
        url: `https://api.example/customers/${encoded}?owner=${encoded}&note=n`,
        headers: { 'X-Owner': PHONE, cookie: `session=${encoded}` },
      })
  })

  test('is bound by a config of the action as by the spec, for all operations or for one', () => {
    const spec = specOf({
      parameters: [{ name: 'id', in: 'query', required: true, schema: { type: 'string' } }],
    })
    for (const by of [{ id: '{{person.phone}}' }, { act: { id: '{{person.phone}}' } }]) {
      expect(shown(spec, by)).toMatchObject({ properties: {}, required: [] })
      expect(sent(spec, { id: 'maria' }, { by }).url).toBe(
        `https://api.example/things?id=${encodeURIComponent(PHONE)}`,
      )
    }
    expect(sent(spec, { id: 'x' }, { by: { other: { id: 'y' } } }).url).toContain('id=x')
  })

  test('can be a constant, a text around variables, or a variable with its type', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' }, t: { type: 'string' }, b: {} } }
    const by = { n: '{{person.ctx.customer}}', t: 'tel:{{ person.phone }}/{{thread.extId}}', b: true }
    expect(sent(bodyOf(schema), {}, { by }).body).toBe(`{"n":42,"t":"tel:${PHONE}/joao","b":true}`)
    const typed = { n: '{{channel.extId}}', t: '{{workspace._id}}' }
    const channel = { _id: 3, extId: '12345678901234567890' }
    expect(sent(bodyOf(schema), {}, { by: typed, of: { ...context, channel } }).body).toBe(
      '{"n":12345678901234567890,"t":"7"}',
    )
  })

  test('makes the call fail where what it stands for is not known: nothing is sent', () => {
    const of = { ...context, person: { phone: null } }
    expect(ask(everywhere, { note: 'n', customer: 'maria' }, { of })).toEqual({
      kind: 'unbound',
      reason: '/customer is set to {{person.phone}}, which this message does not say',
    })
    for (const phone of ['', '  ', undefined])
      expect(ask(everywhere, {}, { of: { ...context, person: { phone } } }).kind).toBe('unbound')
  })

  test('is an argument as all others to whoever is no model', () => {
    const task = { kind: 'request', workspace: 1, key: 'k', spec: everywhere, operationId: 'act' } as const
    const args = JSON.stringify({ customer: 'maria' })
    const result = runSpecTask({ ...task, args, moduleUrl: 'native:request' }, () => readSpec(everywhere))
    expect(result).toMatchObject({ request: { url: 'https://api.example/customers/maria' } })
  })
})

const refund = {
  type: 'object',
  required: ['customer', 'payment'],
  properties: {
    amount: { type: 'number' },
    customer: { type: 'string', ...mine },
    payment: {
      type: 'object',
      required: ['phone'],
      properties: { phone: { $ref: '#/components/schemas/Phone' }, note: {} },
    },
    items: {
      type: 'array',
      items: { type: 'object', properties: { owner: { type: 'string', ...mine }, id: {} } },
    },
  },
}
const nested = bodyOf(refund, undefined, { schemas: { Phone: { type: 'string', ...mine } } })

describe('a bound member of a body', () => {
  test('is not shown, and is set in objects that are not there and in each item of a list', () => {
    expect(shown(nested)).toMatchObject({
      properties: {
        amount: { type: 'number' },
        payment: { type: 'object', required: [], properties: { note: {} } },
        items: { items: { properties: { id: {} } } },
      },
      required: [],
    })
    expect(JSON.stringify(shown(nested))).not.toMatch(/customer|phone|owner/)
    expect(JSON.parse(sent(nested, { amount: 5 }).body ?? '')).toEqual({
      ...{ amount: 5, customer: PHONE, payment: { phone: PHONE } },
    })
    const items = [{ id: 1, owner: 'maria' }, { id: 2 }]
    const evil = { customer: ['maria'], payment: { phone: 'x', note: 'n' }, items }
    expect(JSON.parse(sent(nested, evil).body ?? '')).toEqual({
      ...{ customer: PHONE, payment: { phone: PHONE, note: 'n' } },
      items: [
        { id: 1, owner: PHONE },
        { id: 2, owner: PHONE },
      ],
    })
  })

  test('is set under `body`, too, and where the body is composed', () => {
    const whole = { body: { customer: 'maria', payment: {} } }
    expect(JSON.parse(sent(nested, whole).body ?? '')).toMatchObject({ customer: PHONE })
    const composed = bodyOf({ allOf: [refund, { properties: { more: {} } }] }, undefined, {
      schemas: { Phone: { type: 'string', ...mine } },
    })
    expect(JSON.stringify(shown(composed))).not.toMatch(/customer|phone|owner/)
    expect(JSON.parse(sent(composed, whole).body ?? '')).toMatchObject({ customer: PHONE })
    const listOf = bodyOf({ type: 'array', items: refund.properties.items.items })
    expect(sent(listOf, { body: [{ owner: 'x' }] }).body).toBe(`[{"owner":"${PHONE}"}]`)
  })

  test('is refused where a value has no place for it', () => {
    expect(ask(nested, { payment: 'maria' })).toMatchObject({ kind: 'bad_args', path: '/payment' })
    expect(ask(nested, { body: ['maria'] })).toMatchObject({ kind: 'bad_args', path: '/body' })
    expect(ask(nested, { items: { owner: 'maria' } })).toMatchObject({ kind: 'bad_args', path: '/items' })
  })

  test('is bound by a JSON Pointer of a config, with `*` for the items of a list', () => {
    const spec = nested.replaceAll('x-parley-value', 'x-other')
    const by = { act: { '/payment/phone': '{{person.phone}}', '/items/*/owner': '{{thread.extId}}' } }
    expect(JSON.parse(sent(spec, { customer: 'c', items: [{ owner: 'x' }] }, { by }).body ?? '')).toEqual({
      ...{ customer: 'c', payment: { phone: PHONE }, items: [{ owner: 'joao' }] },
    })
  })
})

describe('what a model writes beside a bound name', () => {
  const tricks = [
    'Customer',
    'CUSTOMER',
    'customer[]',
    'customer[0]',
    'customer.id',
    ' customer',
    'cu\u017ftomer',
  ]
  const open = { type: 'object', properties: { customer: { type: 'string', ...mine }, note: {} } }

  test.each(tricks.filter((name) => name !== ''))(
    'does not leave where a server may take it for that: %j',
    (name) => {
      for (const type of ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        const body = sent(bodyOf(open, type), { [name]: 'maria', note: 'n' }).body ?? ''
        expect(body).toContain(type === 'application/json' ? PHONE : PHONE.slice(1))
        expect(body).not.toContain('maria')
      }
    },
  )

  test('does not leave in the query by the names of an object that is exploded', () => {
    const given = [
      { name: 'customer', in: 'query', schema: { type: 'string' }, ...mine },
      { name: 'filter', in: 'query', schema: { type: 'object' } },
    ]
    const filter = { customer: 'maria', 'customer[]': 'maria', Customer: 'maria', state: 'open' }
    expect(sent(specOf({ parameters: given }), { filter }).url).toBe(
      `https://api.example/things?customer=${encodeURIComponent(PHONE)}&state=open`,
    )
  })

  test('does not leave in a header of another spelling', () => {
    const given = [
      { name: 'X-Customer', in: 'header', schema: { type: 'string' }, ...mine },
      { name: 'x-customer', in: 'header', schema: { type: 'string' } },
      { name: 'X_Customer', in: 'header', schema: { type: 'string' } },
    ]
    const args = { 'x-customer': 'maria', X_Customer: 'maria' }
    expect(sent(specOf({ parameters: given }), args).headers).toEqual({ 'X-Customer': PHONE })
  })

  test('is the body’s where the body has a member of that name that is not bound', () => {
    const schema = { type: 'object', properties: { id: { type: 'string' } } }
    const spec = specOf(
      {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' }, ...mine }],
        requestBody: { content: { 'application/json': { schema } } },
      },
      { path: '/things/{id}' },
    )
    expect(shown(spec)).toMatchObject({ properties: { id: { type: 'string' } }, required: [] })
    const { url, body } = sent(spec, { id: 'of the body' })
    expect(url).toBe(`https://api.example/things/${encodeURIComponent(PHONE)}`)
    expect(body).toBe('{"id":"of the body"}')
  })

  test('never changes what a server reads under the bound names, whatever it is', () => {
    const name = fc.oneof(
      fc.constantFrom(
        ...tricks,
        'customer',
        'payment',
        'payment[phone]',
        'payment[phone][]',
        'phone',
        'body',
        '__proto__',
      ),
      fc.string({ maxLength: 5 }),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant('maria'),
        tie('object'),
        fc.array(fc.constant('maria'), { maxLength: 2 }),
      ),
      object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    }))
    const schema = {
      type: 'object',
      properties: { customer: { type: 'string', ...mine }, payment: { properties: { phone: mine } } },
    }
    const specs = ['application/json', 'application/x-www-form-urlencoded'].map((type) =>
      bodyOf(schema, type),
    )
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 5 }), (args) => {
        for (const spec of specs) {
          const result = ask(spec, args)
          if (result.kind !== 'request') continue
          const { headers, body = '' } = result.request
          const read = headers['content-type'] === 'application/json' ? JSON.parse(body) : parse(body)
          expect(read.customer).toBe(PHONE)
          expect(read.payment.phone).toBe(PHONE)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a binding that can not hold', () => {
  const cases: [string, object, string][] = [
    ['an unknown variable', { 'x-parley-value': '{{person.fone}}' }, 'is no variable'],
    ['no text', { 'x-parley-value': { 'person.phone': null } }, 'a text in quotes'],
    ['braces that are none', { 'x-parley-value': '{{person.phone' }, 'has braces'],
  ]
  test.each(cases)('leaves the operation out: %s', (_name, value, reason) => {
    const spec = bodyOf({ type: 'object', properties: { customer: value } })
    expect(listed(spec)).toMatchObject({ tools: [], broken: [expect.stringContaining(reason)] })
    expect(ask(spec, { customer: 'maria' })).toMatchObject({ kind: 'bad_spec' })
  })

  test('is one where no value can be named, or where a schema comes back to itself', () => {
    for (const schema of [
      { additionalProperties: mine },
      { not: { properties: { a: mine } } },
      { prefixItems: [mine] },
    ])
      expect(listed(bodyOf(schema))).toMatchObject({
        tools: [],
        broken: [expect.stringContaining('where no value')],
      })
    const schemas = {
      Node: { properties: { owner: mine, children: { items: { $ref: '#/components/schemas/Node' } } } },
    }
    expect(listed(bodyOf({ $ref: '#/components/schemas/Node' }, undefined, { schemas }))).toMatchObject({
      broken: [expect.stringContaining('comes back to itself')],
    })
  })

  test('stops no other operation of the spec', () => {
    const operation = (id: string, schema: object) => ({
      get: { operationId: id, parameters: [{ name: 'p', in: 'query', schema }] },
    })
    const paths = {
      '/a': operation('a', {}),
      '/b': operation('b', { 'x-parley-value': '{{x}}' }),
      '/c': operation('c', {}),
    }
    const spec = JSON.stringify({ openapi: '3.1.0', servers: [{ url: 'https://api.example' }], paths })
    expect(listed(spec).tools.map(({ name }) => name)).toEqual(['a', 'c'])
  })

  test('of a config leaves all operations out where none has such an argument, since it is misspelled', () => {
    expect(listed(everywhere, { custommer: '{{person.phone}}' })).toMatchObject({
      ...{ tools: [], left: 0, broken: [] },
      missing: 'has "custommer", which is to be bound',
    })
    expect(listed(everywhere, { act: { custommer: 'x' } }).tools).toEqual([])
    expect(readBindings({ id: '{{person.fone}}' })).toMatchObject({
      key: 'id',
      reason: expect.stringContaining('person.phone'),
    })
  })
})
