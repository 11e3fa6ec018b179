import { describe, expect, test } from '@jest/globals'
import { decide, foldEntries } from '@parley/shared/permission/decide'
import { grants, workspaceOf } from '@parley/shared/permission/values'
import fc from 'fast-check'
import { Context, evalExpr } from 'mingo/core'
import * as expressionOperators from 'mingo/operators/expression'
import * as queryOperators from 'mingo/operators/query'
import { Query } from 'mingo/query'
import { RANDOM_EXPRESSIONS } from '../../../tests/sizes.ts'
import { ACCOUNT, documents, sources } from './arbitraries.ts'
import { comesTo } from './ask.ts'

const DOCUMENTS = 8
const ACCOUNTS = [ACCOUNT, { ...ACCOUNT, workspace: {} }]

type Operands = Parameters<typeof evalExpr>

/**
 * Where mingo is not MongoDB: its `$eq` expression looks into arrays and takes missing for null, and it has
 * no `$indexOfCP`. What else it gets wrong is left to the test against a real server.
 */
const context = Context.init({
  query: queryOperators,
  expression: {
    ...expressionOperators,
    $eq: (...[doc, operands, options]: Operands) => {
      const [left, right] = evalExpr(doc, operands, options) as unknown[]
      return left === right
    },
    $indexOfCP: (...[doc, operands, options]: Operands) => {
      const [text, part] = evalExpr(doc, operands, options) as [string, string]
      const units = text.indexOf(part)
      return units < 0 ? units : [...text.slice(0, units)].length
    },
  },
})

type Case = { source: string; account: object; doc: Record<string, unknown> }

function byFilter({ source, account, doc }: Case): boolean {
  const permissions = [{ schema: 'true', read: source }]
  const decision = decide({ permissions, resource: 'a', account, access: 'read' })
  if (decision.kind !== 'some') return decision.kind === 'all'
  const matches = new Query(decision.filter, { context }).test(doc)
  expect(decision.test(doc)).toBe(matches)
  return matches
}

/** Expressions within the work limit of one decision: all others are denied, which `work.test.ts` shows. */
const affordable = sources({ beyondMingo: false }).filter((source) => {
  const permissions = [{ schema: 'true', read: source }]
  const [entry] = foldEntries({ permissions, resource: 'a', account: ACCOUNT }, 'read')
  return entry?.granting.failure === undefined
})

describe('compiled filter and evaluator', () => {
  test(`agree on ${RANDOM_EXPRESSIONS * DOCUMENTS} pairs of random expression and document, by mingo`, () => {
    let pairs = 0
    let matched = 0
    const choice = { beyondMingo: false }
    const docs = fc.array(documents(choice), { minLength: DOCUMENTS, maxLength: DOCUMENTS })
    fc.assert(
      fc.property(affordable, fc.constantFrom(...ACCOUNTS), docs, (source, account, batch) => {
        for (const doc of batch) {
          const expected = grants(comesTo({ source, account }, doc), workspaceOf(account))
          expect({ source, matches: byFilter({ source, account, doc }) }).toEqual({
            source,
            matches: expected,
          })
          pairs++
          if (expected) matched++
        }
      }),
      { numRuns: RANDOM_EXPRESSIONS },
    )
    expect(pairs).toBe(RANDOM_EXPRESSIONS * DOCUMENTS)
    expect(matched).toBeGreaterThan(pairs / 20)
  })
})
