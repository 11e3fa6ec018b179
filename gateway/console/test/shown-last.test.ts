import { expect, test } from '@jest/globals'
import { shownLast } from '../src/threads.ts'

test.each([
  ['[Template order_update (pt_BR) | João | 4711]', 'Template order_update: João, 4711'],
  ['[Template hello (en_US)]', 'Template hello'],
  [
    '[Template order_update (pt_BR) | João | a long text that was cut',
    'Template order_update: João, a long text that was cut',
  ],
  ['Where is my [Template]?', 'Where is my [Template]?'],
  ['', ''],
])('%s is shown as %s', (stored, shown) => {
  expect(shownLast(stored)).toBe(shown)
})
