import { expect, test } from '@jest/globals'
import { csvOf } from '../src/download.ts'

test.each([
  ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
  ['\t=1+1', `"'\t=1+1"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['-2', `"'-2"`],
  [-2, '"-2"'],
  ['Ana, "Bia"\n', '"Ana, ""Bia""\n"'],
  [undefined, '""'],
])('%j in a file for spreadsheets is text, never a formula', (cell, written) => {
  expect(csvOf([[cell]])).toBe(written)
})
