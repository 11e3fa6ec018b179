import { expect, test } from '@jest/globals'
import { MASK } from '@parley/shared/secret-names'
import { mask, unmask } from '../src/components/edits.ts'

const before = {
  servers: [
    { name: 'a', token: 'A' },
    { name: 'b', token: 'B' },
  ],
  signingSecrets: ['current', 'old'],
}

test('what was masked and left alone is as it was', () => {
  expect(unmask(mask(before), before)).toEqual(before)
})

test('an item keeps its own secret when the one before it is removed', () => {
  const typed = { servers: [{ name: 'b', token: MASK }] }
  expect(unmask(typed, before)).toEqual({ servers: [{ name: 'b', token: 'B' }] })
})

test('a mask stays one where it is not certain which secret it stands for', () => {
  const typed = { signingSecrets: ['new', MASK] }
  expect(unmask(typed, before)).toEqual(typed)
})
