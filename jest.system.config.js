import inner from './jest.config.js'

// Tests against a model run in both rings: a few runs in the inner one, many here.
process.env.MODEL_RUNS ??= '4'
process.env.RANDOM_FILTERS ??= '1000'
process.env.RANDOM_EXPRESSIONS ??= '1000'

/** @type {import('jest').Config} */
export default {
  ...inner,
  testMatch: ['**/*.system.test.ts', '**/*-model.test.ts'],
  testPathIgnorePatterns: [],
  // Each of them starts processes of its own.
  maxWorkers: 3,
}
