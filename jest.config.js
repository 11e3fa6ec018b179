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
  // What boots whole systems, browsers or clusters is of the outer ring: `npm run test:system`.
  testPathIgnorePatterns: ['\\.system\\.test\\.ts$'],
  runner: '<rootDir>/deploy/local/src/testing/native-runner.ts',
  injectGlobals: false,
  reporters: ['default', '<rootDir>/deploy/local/src/testing/slowest-files.ts'],
  transform: {},
  modulePathIgnorePatterns: ['<rootDir>/.local/'],
  // A machine with other work on it takes ten times as long.
  testTimeout: 240_000,
  // Much of a test is waiting: for a lease to run out, for a retry to be due, for a write to be on the disk.
  maxWorkers: 4,
}
