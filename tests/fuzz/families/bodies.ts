import fc from 'fast-check'
import type { FuzzCase } from '../fuzz-case.ts'
import { operationsWithBody } from '../operations.ts'
import { almost } from '../values/from-schema.ts'
import { naughtyValue } from '../values/naughty-values.ts'
import { asJson, caller, headersOf, pathOf, validBody } from './requests.ts'

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
