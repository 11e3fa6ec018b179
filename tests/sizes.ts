import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'

const size = integer({ min: 1, max: 1_000_000 })
const schema = z.object({
  MODEL_RUNS: size.default(1).describe('Runs of the intake model, eight partitions each'),
  RANDOM_FILTERS: size.default(200).describe('Permission filters that MongoDB and the evaluator agree on'),
  RANDOM_EXPRESSIONS: size.default(300).describe('Expressions that mingo and the evaluator agree on'),
  RANDOM_BODIES: size.default(40).describe('Bodies that are never answered with 5xx, at each webhook'),
})

/** How much of what is random the tests make. */
export const { MODEL_RUNS, RANDOM_FILTERS, RANDOM_EXPRESSIONS, RANDOM_BODIES } = parseConfig(
  schema,
  process.env,
)
