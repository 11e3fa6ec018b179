import { describe, expect, test } from '@jest/globals'
import { askSpec } from './ask-spec.ts'

describe('a spec that can not be worked with says why', () => {
  const withSchema = (schema: string) => `
openapi: 3.1.0
servers: [{ url: 'https://x.example' }]
paths:
  /a: { post: { operationId: a, requestBody: { content: { application/json: { schema: ${schema} } } } } }
`
  const laughs = (count: number) => {
    const lines = [`l0: &l0 { allOf: [{ type: object }, { type: object }] }`]
    for (let n = 1; n < count; n++) lines.push(`l${n}: &l${n} { allOf: [*l${n - 1}, *l${n - 1}] }`)
    return `${lines.join('\n')}${withSchema(`*l${count - 1}`)}`
  }
  test.each([
    ['no YAML', 'a: [', 'is no YAML'],
    ['YAML that is no mapping', '- 1', 'is no YAML mapping'],
    [
      'another version',
      'swagger: "1.2"',
      'names neither an OpenAPI 3 version under openapi nor 2.0 under swagger',
    ],
    ['no paths', 'openapi: 3.1.0', 'has no paths'],
    ['too long', `openapi: 3.1.0\n#${'x'.repeat(4_200_000)}`, 'is longer than 4194304 characters'],
    ['nested too deeply', `openapi: 3.1.0\npaths: ${'['.repeat(10_000)}`, 'is no YAML'],
    ['no server', withSchema('{}').replace(/servers.*/, ''), 'names no server'],
    [
      'a server that is a path',
      withSchema('{}').replace('https://x.example', '/v1'),
      'has a server without an http(s) URL',
    ],
    [
      'a server of another kind',
      withSchema('{}').replace('https://x.example', 'file:///etc'),
      'has a server without an http(s) URL',
    ],
    [
      'a reference outside',
      withSchema("{ $ref: 'https://x.example/a.json' }"),
      'refers to something outside of itself, which is not fetched',
    ],
    [
      'a reference to a file',
      withSchema("{ $ref: './a.yaml#/A' }"),
      'refers to something outside of itself, which is not fetched',
    ],
    [
      'a reference to nothing',
      withSchema("{ $ref: '#/components/A' }"),
      'has a reference to nothing: #/components/A',
    ],
    ['a dynamic reference', withSchema("{ $dynamicRef: '#a' }"), 'has a dynamic reference'],
    ['a schema that is none', withSchema('5'), 'has something in the place of a schema that is none'],
    [
      'a pattern that is none',
      withSchema("{ properties: { x: { pattern: '(' } } }"),
      'has a pattern that RE2, which matches in linear time, does not take: "("',
    ],
    ['a billion laughs', laughs(30), 'expands to more than 250000 nodes'],
    [
      'very many schemas',
      withSchema(`{ properties: { ${Array.from({ length: 20_000 }, (_, n) => `k${n}: {}`).join(', ')} } }`),
      'has too many schemas',
    ],
    [
      'another media type',
      withSchema('{}').replace('application/json', 'image/png'),
      'has a request body that is neither JSON, nor a form, nor a text',
    ],
    [
      'no such operation',
      withSchema('{}').replace('operationId: a', 'operationId: b'),
      'has no such operation',
    ],
  ])('%s', (_name, spec, reason) => {
    expect(askSpec(spec, 'a', { x: 'y' })).toEqual({ kind: 'bad_spec', reason })
  })

  test('parameters in a circle', () => {
    const spec = `
openapi: 3.1.0
servers: [{ url: 'https://x.example' }]
paths: { /a: { get: { operationId: a, parameters: [{ $ref: '#/p/a' }] } } }
p: { a: { $ref: '#/p/b' }, b: { $ref: '#/p/a' } }
`
    expect(askSpec(spec, 'a', {})).toEqual({
      kind: 'bad_spec',
      reason: 'has references that lead in a circle',
    })
  })

  test('schemas in a circle', () => {
    const spec = `${withSchema("{ $ref: '#/s/a' }")}s: { a: { $ref: '#/s/b' }, b: { $ref: '#/s/a' } }`
    expect(askSpec(spec, 'a', { x: 1 })).toEqual({
      kind: 'bad_spec',
      reason: 'has references that lead in a circle',
    })
  })

  test('a header of the connection', () => {
    const spec = `
openapi: 3.1.0
servers: [{ url: 'https://x.example' }]
paths: { /a: { get: { operationId: a, parameters: [{ name: Host, in: header }] } } }
`
    expect(askSpec(spec, 'a', {})).toEqual({
      kind: 'bad_spec',
      reason: 'has a header "Host" that can\'t be set',
    })
  })
})
