import { defined } from '@parley/shared/defined'
import fc from 'fast-check'
import type { FuzzCase } from '../fuzz-case.ts'
import { fuzzedOperations } from '../operations.ts'
import { fromSchema } from '../values/from-schema.ts'
import { jsonText } from '../values/json-text.ts'
import { caller, headersOf, pathOf, validBody } from './requests.ts'

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
