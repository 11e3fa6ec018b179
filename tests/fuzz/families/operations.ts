import { defined } from '@parley/shared/defined'
import fc from 'fast-check'
import type { FuzzCase } from '../fuzz-case.ts'
import { fuzzedOperations, operationsWithBody } from '../operations.ts'
import { almost, fromSchema } from '../values/from-schema.ts'
import { jsonText, naughtyValue } from '../values/naughty-values.ts'
import { asJson, caller, headersOf, pathOf, validBody } from './requests.ts'

/** Every operation by everyone, with what the document says it takes. */
export const operationCases: fc.Arbitrary<FuzzCase> = fc
  .tuple(fc.constantFrom(...fuzzedOperations), caller)
  .chain(([operation, caller]) => {
    const body = validBody(operation) ?? fc.constant(undefined)
    const query = fc.tuple(
      ...operation.operation.parameters
        .filter((each) => each.in === 'query')
        .map(({ name, schema }) =>
          fc.option(fromSchema(schema).map((value) => `${name}=${queryText(value)}`)),
        ),
    )
    return fc.tuple(pathOf(operation), body, query).map(([path, value, parts]): FuzzCase => {
      const text = value === undefined ? undefined : jsonText(value)
      const asked = parts.filter((part) => part !== null).slice(0, 3)
      return {
        kind: 'operation',
        caller,
        method: operation.method,
        target: asked.length === 0 ? path : `${path}?${asked.join('&')}`,
        headers: headersOf({ operation, caller, hasBody: text !== undefined }),
        ...defined({ body: text }),
      }
    })
  })

function queryText(value: unknown): string {
  return encodeURIComponent(String(typeof value === 'object' ? JSON.stringify(value) : value).toWellFormed())
}

/** Bodies that are nearly what the document says, and bodies that are nothing of the kind. */
export const bodyCases: fc.Arbitrary<FuzzCase> = fc
  .tuple(fc.constantFrom(...operationsWithBody), caller)
  .chain(([operation, caller]) => {
    const valid = validBody(operation) ?? fc.constant({})
    const body = fc.oneof({ arbitrary: almost(valid), weight: 5 }, { arbitrary: naughtyValue, weight: 1 })
    return fc.tuple(pathOf(operation), asJson(body)).map(
      ([target, body]): FuzzCase => ({
        kind: 'body',
        caller,
        method: operation.method,
        target,
        body,
        headers: headersOf({ operation, caller, hasBody: true }),
      }),
    )
  })
