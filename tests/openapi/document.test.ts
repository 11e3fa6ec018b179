import { describe, expect, test } from '@jest/globals'
import { errors } from '@parley/shared/errors'
import { Validator } from '@seriousme/openapi-schema-validator'
import { openApiDocument } from '../../docs/openapi/document.ts'
import { operations as permitted } from '../../docs/permission-operations.ts'
import {
  document,
  type MediaType,
  type Named,
  operations,
  resolved,
  schemaErrors,
  text,
} from './read-document.ts'

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
const sorted = (names: string[]) => names.toSorted((a, b) => a.localeCompare(b))

/** Every body in the document, by where it stands. */
const bodies = operations.flatMap((named) => [
  ...mediaTypes(`${nameOf(named)} takes`, named.operation.requestBody?.content),
  ...Object.entries(named.operation.responses).flatMap(([status, response]) =>
    mediaTypes(`${nameOf(named)} answers ${status}`, resolved(response).content),
  ),
])

function mediaTypes(where: string, content: Record<string, MediaType> | undefined) {
  return Object.entries(content ?? {}).map(([type, media]) => ({ where: `${where} ${type}`, media }))
}

function examplesOf({ example, examples = {} }: MediaType): unknown[] {
  const named = Object.values(examples).map((each) => resolved<{ value?: unknown }>(each).value)
  return example === undefined ? named : [example, ...named]
}

describe('the OpenAPI document', () => {
  test('is what the services describe', () => {
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
  })

  test('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(text))
    expect([valid, errors]).toEqual([true, undefined])
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  test('has every operation that the gateway lets in, once, and no other', () => {
    const own = permitted.filter(({ aliasOf }) => aliasOf === undefined)
    expect(sorted(operations.map(nameOf))).toEqual(sorted(own.map(nameOf)))
  })

  test('names every alias where the operation is described', () => {
    const aliases = permitted.filter(({ aliasOf }) => aliasOf !== undefined)
    const unnamed = aliases.filter(({ method, path, aliasOf }) => {
      const described = operations.find((each) => each.method === method && each.path === aliasOf)
      return !described?.operation.description.includes(`\`${method} ${path}\``)
    })
    expect(unnamed.map(nameOf)).toEqual([])
    expect(aliases.length).toBe(10)
  })

  test('wants a token just where one is looked at', () => {
    const open = permitted.filter(({ access }) => access === 'nothing').map(nameOf)
    const without = operations.filter(({ operation }) => operation.security?.length === 0).map(nameOf)
    expect(sorted(without)).toEqual(sorted(open))
  })

  test('knows every error code there is, and no other', () => {
    const { Problem } = document.components.schemas as Record<
      string,
      { properties: { code: { enum: string[] } } }
    >
    expect(sorted(Problem?.properties.code.enum ?? [])).toEqual(sorted(Object.keys(errors)))
    // 405 is what a path answers to methods that are no operation of it.
    const listed = [...Object.keys(document.components.examples), 'method_not_allowed']
    expect(sorted(listed)).toEqual(sorted(Object.keys(errors)))
  })

  test('gives every operation an id of its own and a tag that is described', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }) => name)
    expect(
      operations.flatMap(({ operation }) => operation.tags).filter((tag) => !tags.includes(tag)),
    ).toEqual([])
  })

  test('describes every parameter of a path', () => {
    const wrong = operations.filter(({ path, operation }) => {
      const described = operation.parameters.filter((each) => each.in === 'path' && each.required)
      const expected = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      return String(described.map(({ name }) => name)) !== String(expected)
    })
    expect(wrong.map(nameOf)).toEqual([])
  })

  test('has an example for every body and for every parameter that must be sent', () => {
    expect(bodies.filter(({ media }) => examplesOf(media).length === 0)).toEqual([])
    const bare = (named: Named) =>
      named.operation.parameters.filter(({ required, example }) => required && example === undefined)
    expect(operations.filter((named) => bare(named).length > 0).map(nameOf)).toEqual([])
  })

  test('has only examples that their schema takes', () => {
    const wrong = bodies.flatMap(({ where, media }) =>
      examplesOf(media).flatMap((example) =>
        schemaErrors(media.schema, example).map((error) => where + error),
      ),
    )
    expect(wrong).toEqual([])
    expect(bodies.length).toBeGreaterThan(1_000)
  })

  test('has only parameter examples that their schema takes', () => {
    const parameters = operations.flatMap(({ operation }) => operation.parameters)
    const given = parameters.filter(({ example }) => example !== undefined)
    expect(given.flatMap(({ schema, example }) => schemaErrors(schema, example))).toEqual([])
    expect(given.length).toBeGreaterThan(40)
  })

  test('refuses bodies that the services refuse', () => {
    const put = document.paths['/rest/tasks/{id}']?.put
    const { schema, example } = Object.values(put?.requestBody?.content ?? {})[0] as MediaType
    for (const wrong of [{ name: 5 }, { workflow: 1.5 }, { status: 'done' }, { typo: 1 }, { context: [] }]) {
      expect(schemaErrors(schema, { ...(example as object), ...wrong })).not.toEqual([])
    }
    expect(schemaErrors(schema, { ...(example as object), _id: 7, updatedAt: 'x', context: null })).toEqual(
      [],
    )
  })
})
