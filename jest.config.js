/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: [
    '<rootDir>/gateway',
    '<rootDir>/services',
    '<rootDir>/shared',
    '<rootDir>/deploy',
    '<rootDir>/tests',
  ],
  globalSetup: '<rootDir>/deploy/local/src/testing/global-setup.ts',
  globalTeardown: '<rootDir>/deploy/local/src/testing/global-teardown.ts',
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/.local/'],
  testTimeout: 90_000,
  maxWorkers: 2,
}
