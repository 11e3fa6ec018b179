import { describe, expect, test } from '@jest/globals'
import { readSpec, runSpecTask } from '../../src/functions/spec-task.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const field = (name: string) => ({
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' }, [name]: { type: 'string' } },
})

/** A spec whose operation `log` takes this. */
function specOf(body: object, schemas: object = {}, openapi = '3.0.3') {
  const text = JSON.stringify({
    ...{ openapi, info: { title: 't', version: '1' }, servers: [{ url: 'https://a.example' }] },
    components: { schemas: { Sown: field('crop'), Grown: field('height'), ...schemas } },
    paths: {
      '/logs': {
        post: { operationId: 'log', requestBody: { content: { 'application/json': { schema: body } } } },
      },
    },
  })
  const spec = readSpec(text)
  const task = { workspace: 1, key: 'k', spec: text }
  return {
    shown() {
      const result = runSpecTask({ ...task, kind: 'tools' }, () => spec)
      return result.kind === 'tools' ? result.tools[0]?.inputSchema.properties : result
    },
    send(given: object) {
      const call = { kind: 'request', operationId: 'log', moduleUrl: 'native:request' } as const
      const result = runSpecTask({ ...task, ...call, args: JSON.stringify(given) }, () => spec)
      return result.kind === 'request' ? result.request.body : result
    },
  }
}

describe('alternatives that a property tells apart', () => {
  const mapping = { sowing: '#/components/schemas/Sown', planting: 'Sown' }
  const discriminator = { propertyName: 'type', mapping }
  const alternatives = { oneOf: [ref('Sown'), ref('Grown')], discriminator }

  test('are shown with the values that stand for them, by the mapping or by their names', () => {
    expect(specOf(alternatives).shown()).toMatchObject({
      body: {
        oneOf: [
          { properties: { type: { type: 'string', enum: ['sowing', 'planting'] }, crop: {} } },
          { properties: { type: { type: 'string', enum: ['Grown'] }, height: {} } },
        ],
      },
    })
  })

  test('keep the values that they say themselves', () => {
    const Grown = { ...field('height'), properties: { type: { type: 'string', enum: ['growing'] } } }
    expect(specOf(alternatives, { Grown }).shown()).toMatchObject({
      body: { oneOf: [{}, { properties: { type: { enum: ['growing'] } } }] },
    })
  })

  test('take a value that fits several of them, as they are written', () => {
    const body = { type: 'sowing', crop: 'maize' }
    expect(specOf(alternatives).send({ body })).toBe(JSON.stringify(body))
    expect(specOf(alternatives).send({ body: { crop: 'maize' } })).toMatchObject({ kind: 'bad_args' })
    expect(specOf({ oneOf: alternatives.oneOf }).send({ body })).toMatchObject({ kind: 'bad_args' })
  })

  test('of a schema that others extend are shown as the values of the property', () => {
    const Log = { ...field('note'), discriminator }
    expect(specOf(ref('Log'), { Log }).shown()).toMatchObject({
      type: { type: 'string', enum: ['sowing', 'planting'] },
    })
  })

  test('are as they were where the discriminator says nothing', () => {
    for (const wrong of [{ propertyName: 5 }, 'type', { propertyName: 'type', mapping: [] }]) {
      const body = { anyOf: [field('crop')], discriminator: wrong }
      expect(specOf(body).shown()).toEqual({ body: { anyOf: [field('crop')] } })
    }
  })
})

describe('schemas that come back to themselves', () => {
  test.each<[string, object, object]>([
    [
      'by an item',
      { Sown: { type: 'object', properties: { in: { type: 'array', items: ref('Sown') } } } },
      { in: [{}] },
    ],
    [
      'over another one',
      {
        Sown: { type: 'object', properties: { in: ref('Grown') } },
        Grown: { type: 'object', properties: { in: ref('Sown') } },
      },
      { in: { in: { in: {} } } },
    ],
    [
      'by what they are composed of',
      { Sown: { type: 'object', properties: { in: { allOf: [ref('Sown')] } } } },
      { in: {} },
    ],
    [
      'by additional members',
      { Sown: { type: 'object', properties: { a: {} }, additionalProperties: ref('Sown') } },
      { b: {} },
    ],
    [
      'by alternatives with a discriminator',
      {
        Sown: {
          type: 'object',
          properties: { in: { oneOf: [ref('Sown')], discriminator: { propertyName: 't' } } },
        },
      },
      { in: { t: 'Sown' } },
    ],
  ])('%s are shown, and checked whole', (_how, schemas, given) => {
    const spec = specOf(ref('Sown'), schemas)
    expect(JSON.stringify(spec.shown()).length).toBeLessThan(2_000)
    expect(spec.send(given)).toBe(JSON.stringify(given))
    expect(spec.send({ in: 5, b: 5 })).toMatchObject({ kind: 'bad_args' })
  })
})

test('numbers to choose from are checked as numbers', () => {
  const spec = specOf({ type: 'object', properties: { minutes: { type: 'integer', enum: [60, 1440] } } })
  expect(spec.shown()).toEqual({ minutes: { type: 'integer', enum: [60, 1440] } })
  expect(spec.send({ minutes: 60 })).toBe('{"minutes":60}')
  expect(spec.send({ minutes: 61 })).toMatchObject({ kind: 'bad_args', path: '/minutes' })
})
