import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { formBody } from '../../src/functions/encode-body.ts'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'
import { askSpec } from './ask-spec.ts'

const specOf = (operation: object, { openapi = '3.0.3', schemas = {}, method = 'post' } = {}): string =>
  JSON.stringify({
    openapi,
    info: { title: 'T', version: '1' },
    servers: [{ url: 'https://api.example' }],
    paths: { '/things': { [method]: { operationId: 'act', responses: {}, ...operation } } },
    components: { schemas },
  })
const bodyOf = (content: object, more = {}) => specOf({ requestBody: { required: true, content } }, more)
const sent = (spec: string, args: object) => {
  const result = askSpec(spec, 'act', args)
  if (result.kind !== 'request') throw new Error(JSON.stringify(result))
  return result.request
}
const toolOf = (spec: string) => {
  const result = runSpecTask({ kind: 'tools', workspace: 1, key: 'k', spec }, () => readSpec(spec))
  if (result.kind !== 'tools') throw new Error(JSON.stringify(result))
  return result
}
const decoded = (body = '') => [...new URLSearchParams(body)]

const FORM = 'application/x-www-form-urlencoded'
const refund = {
  type: 'object',
  required: ['charge'],
  properties: {
    charge: { type: 'string' },
    amount: { type: 'integer' },
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
    expand: { type: 'array', items: { type: 'string' } },
    items: { type: 'array', items: { type: 'object' } },
  },
}

describe('a form', () => {
  test('has its names as arguments, and is sent as a form: nested in brackets, lists repeated', () => {
    const spec = bodyOf({ [FORM]: { schema: refund } })
    expect(toolOf(spec).tools[0]?.inputSchema).toMatchObject({
      properties: { charge: { type: 'string' } },
      required: ['charge'],
    })
    const metadata = { order: '42', 'a&b': 'ç d' }
    const items = [{ price: 'p1', tags: ['x'] }, { price: 'p2' }]
    const { headers, body } = sent(spec, { charge: 'ch_1', amount: 500, metadata, expand: ['a', 'b'], items })
    expect(headers).toEqual({ 'content-type': FORM })
    expect(decoded(body)).toEqual([
      ['charge', 'ch_1'],
      ['amount', '500'],
      ['metadata[order]', '42'],
      ['metadata[a&b]', 'ç d'],
      ['expand', 'a'],
      ['expand', 'b'],
      ['items[0][price]', 'p1'],
      ['items[0][tags][0]', 'x'],
      ['items[1][price]', 'p2'],
    ])
  })

  test.each([
    [
      'in brackets',
      { style: 'deepObject', explode: true },
      [
        ['expand[0]', 'a'],
        ['expand[1]', 'b'],
      ],
    ],
    ['in one value', { explode: false }, [['expand', 'a,b']]],
    ['between bars', { style: 'pipeDelimited' }, [['expand', 'a|b']]],
    ['as JSON', { contentType: 'application/json' }, [['expand', '["a","b"]']]],
  ])('has its lists %s where its encoding says so', (_how, encoding, pairs) => {
    const spec = bodyOf({ [FORM]: { schema: refund, encoding: { expand: encoding } } })
    expect(decoded(sent(spec, { charge: 'c', expand: ['a', 'b'] }).body).slice(1)).toEqual(pairs)
  })

  test('has numbers as they were written, and comes after JSON', () => {
    const content = { [FORM]: { schema: refund } }
    const large = '{"charge":"c","amount":1917043659912705296}'
    const spec = bodyOf(content)
    const task = {
      kind: 'request',
      workspace: 1,
      key: 'k',
      spec,
      operationId: 'act',
      moduleUrl: 'native:request',
    } as const
    expect(runSpecTask({ ...task, args: large }, () => readSpec(spec))).toMatchObject({
      request: { body: 'charge=c&amount=1917043659912705296' },
    })
    const both = bodyOf({ ...content, 'application/json': { schema: refund } })
    expect(sent(both, { charge: 'c' })).toMatchObject({ body: '{"charge":"c"}' })
  })

  test('says what does not fit, by the place in the arguments', () => {
    const spec = bodyOf({ [FORM]: { schema: refund } })
    const wrong = { kind: 'bad_args', path: '/charge', reason: 'is missing' }
    expect(askSpec(spec, 'act', { amount: 5 })).toEqual(wrong)
  })

  test('names each value once by its place, whatever is nested in it', () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean())
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.dictionary(fc.string({ unit: 'grapheme' }), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }))
    const leaves = (one: unknown): string[] =>
      typeof one === 'object' && one !== null ? Object.values(one).flatMap(leaves) : [String(one)]
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), tree, { noNullPrototype: true }), (value) => {
        const pairs = decoded(formBody(value, { type: FORM, encodings: new Map() }).text)
        expect(pairs.map(([, text]) => text)).toEqual(leaves(value).map((text) => text.toWellFormed()))
      }),
    )
  })
})

describe('a multipart body', () => {
  const spec = bodyOf({
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          title: { type: 'string' },
          tags: { type: 'array', items: { type: 'string' } },
          about: { type: 'object' },
          file: { type: 'string', format: 'binary' },
          'say "hi"': { type: 'string' },
        },
      },
      encoding: { file: { contentType: 'text/csv, text/plain' } },
    },
  })

  test('has a part for each value, files with a name, what is nested as JSON', async () => {
    const args = { title: 'Olá', tags: ['a', 'b'], about: { n: 1 }, file: 'x;y\r\n1;2', 'say "hi"': 'yes' }
    const { headers, body = '' } = sent(spec, args)
    const response = new Response(Buffer.from(body), { headers })
    const form = await response.formData()
    expect([form.get('title'), form.getAll('tags')]).toEqual(['Olá', ['a', 'b']])
    expect(form.get('say "hi"')).toBe('yes')
    expect(body).toContain('Content-Type: application/json\r\n\r\n{"n":1}')
    const file = form.get('file') as File
    expect([file.name, file.type, await file.text()]).toEqual(['file', 'text/csv', args.file])
  })

  test('can not be ended from inside of a value', async () => {
    const first = sent(spec, { title: 'x' }).headers['content-type'] ?? ''
    const second = sent(spec, { title: 'x' }).headers['content-type'] ?? ''
    expect(first).toMatch(/^multipart\/form-data; boundary=parley-/)
    expect(second).not.toBe(first)
  })
})

describe('a body that is a text', () => {
  test.each(['text/plain', 'text/csv; charset=utf-8', 'application/octet-stream'])(
    'of type %s is sent as it is given',
    (type) => {
      const spec = bodyOf({ [type]: { schema: { type: 'string' } } })
      expect(toolOf(spec).tools[0]?.inputSchema).toMatchObject({ required: ['body'] })
      expect(sent(spec, { body: 'a;b\n"ç"' })).toMatchObject({
        headers: { 'content-type': type },
        body: 'a;b\n"ç"',
      })
    },
  )

  test('of a type that no model can write is no tool, and stops no other', () => {
    const other = { operationId: 'other', responses: {} }
    const document = JSON.parse(bodyOf({ 'image/png': {} }))
    document.paths['/things'].get = other
    const { tools, broken } = toolOf(JSON.stringify(document))
    expect(tools.map(({ name }) => name)).toEqual(['other'])
    expect(broken).toEqual(['has a request body that is neither JSON, nor a form, nor a text'])
  })
})

describe('what only responses have', () => {
  const pet = {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: { type: 'string', format: 'uuid', readOnly: true },
      name: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
      owner: { $ref: '#/components/schemas/Owner' },
      visits: { type: 'array', items: { $ref: '#/components/schemas/Owner' } },
    },
  }
  const owner = {
    type: 'object',
    required: ['url'],
    properties: { url: { $ref: '#/components/schemas/Url' }, email: { type: 'string' } },
  }
  const schemas = { Pet: pet, Owner: owner, Url: { type: 'string', readOnly: true } }
  const ofSchema = (schema: object, more = {}) =>
    bodyOf({ 'application/json': { schema } }, { schemas: { ...schemas, ...more } })
  const spec = ofSchema({ $ref: '#/components/schemas/Pet' })

  test('is neither asked for, nor required', () => {
    const { inputSchema } = toolOf(spec).tools[0] ?? {}
    expect(inputSchema).toMatchObject({ required: ['name'] })
    expect(JSON.stringify(inputSchema)).not.toMatch(/"id"|"url"/)
    expect(JSON.stringify(inputSchema)).toContain('"secret"')
    expect(sent(spec, { name: 'Rex', owner: { email: 'e' } }).body).toBe(
      '{"name":"Rex","owner":{"email":"e"}}',
    )
  })

  test('is not sent, however deep it is', () => {
    const args = { id: 'made up', name: 'Rex', owner: { url: 'u' }, visits: [{ url: 'u', email: 'e' }] }
    expect(sent(spec, args).body).toBe('{"name":"Rex","owner":{},"visits":[{"email":"e"}]}')
  })

  test.each(['3.0.3', '3.1.0'])('is known from all parts of a schema of %s', (openapi) => {
    const schema = {
      allOf: [{ $ref: '#/components/schemas/Base' }, { required: ['id', 'name'], properties: { name: {} } }],
    }
    const base = { type: 'object', properties: { id: { type: 'integer', readOnly: true } } }
    const composed = bodyOf({ 'application/json': { schema } }, { openapi, schemas: { Base: base } })
    expect(sent(composed, { name: 'Rex' }).body).toBe('{"name":"Rex"}')
    expect(sent(composed, { id: 7, name: 'Rex' }).body).toBe('{"name":"Rex"}')
    expect(JSON.stringify(toolOf(composed).tools[0]?.inputSchema)).not.toContain('"id"')
  })

  test('is looked for in schemas that come back to themselves', () => {
    const tree = {
      type: 'object',
      allOf: [{ $ref: '#/components/schemas/Tree' }],
      required: ['id'],
      properties: { id: { readOnly: true }, inner: { $ref: '#/components/schemas/Tree' } },
    }
    const own = ofSchema({ $ref: '#/components/schemas/Tree' }, { Tree: tree })
    expect(askSpec(own, 'act', { body: { id: 1, inner: { id: 2 } } })).toMatchObject({
      kind: expect.stringMatching(/^(request|bad_spec)$/),
    })
  })
})

describe('a parameter of the query', () => {
  const query = (parameter: object, value: unknown) => {
    const parameters = [{ in: 'query', name: 'filter', ...parameter }]
    return sent(specOf({ parameters }, { method: 'get' }), { filter: value }).url.split('?')[1]
  }
  const deep = { style: 'deepObject' }

  test.each([
    [
      'of a deep object has its lists repeated',
      deep,
      { status: ['a', 'b'] },
      'filter[status]=a&filter[status]=b',
    ],
    ['of a deep object has what is nested in brackets', deep, { a: { gte: 1 } }, 'filter[a][gte]=1'],
    ['of a deep object that is a list has indices', deep, ['a', 'b'], 'filter[0]=a&filter[1]=b'],
    [
      'that is not exploded has its values between commas',
      { explode: false },
      ['a', 'b,c'],
      'filter=a,b%2Cc',
    ],
    ['that is an object and not exploded', { explode: false }, { r: 1, g: 2 }, 'filter=r,1,g,2'],
    ['between spaces', { style: 'spaceDelimited', explode: false }, ['a', 'b'], 'filter=a%20b'],
    ['between bars', { style: 'pipeDelimited', explode: false }, ['a', 'b'], 'filter=a%7Cb'],
    ['that is an empty list is left out', { explode: false }, [], undefined],
  ])('%s', (_what, parameter, value, expected) => {
    const found = query(parameter, value)
    expect(found?.replaceAll('%5B', '[').replaceAll('%5D', ']')).toBe(expected)
  })
})
