import inner from './jest.config.js'

/** @type {import('jest').Config} */
export default { ...inner, testMatch: ['**/*.system.test.ts'], testPathIgnorePatterns: [] }
