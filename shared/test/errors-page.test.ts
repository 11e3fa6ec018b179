import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { renderMessageCodes } from '../../docs/message-codes.ts'
import { errors, renderErrorsPage } from '../src/errors.ts'

test('docs/errors.md is what the tables of errors and codes say (npm run docs writes it)', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  expect(page).toBe(renderErrorsPage() + renderMessageCodes())
})

test('codes are in snake case, and every one is an error status', () => {
  for (const [code, { status }] of Object.entries(errors)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
    expect([code, status >= 400 && status < 600]).toEqual([code, true])
  }
})
