import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { withRules } from '../../docs/rules-table.ts'

test('docs/architecture.md has the rules that npm run docs writes', () => {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')
  expect(page).toBe(withRules(page))
})
