import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { usernameKey } from '../src/accounts/user-fields.ts'
import { slugOf } from '../src/registration/register.ts'

describe('slugOf', () => {
  test.each([
    ['Acme', 'acme'],
    ['  Ünïted   Nätions ', 'united-nations'],
    ['a.b_c', 'a-b-c'],
    ['xn--80ak6aa92e', 'xn-80ak6aa92e'],
    ['', 'workspace'],
    ['日本語', 'workspace'],
  ])('%j becomes %j', (namespace, slug) => {
    expect(slugOf(namespace)).toBe(slug)
  })

  test('is a DNS label with room for a number, whatever comes in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (namespace) => {
        expect(slugOf(namespace)).toMatch(/^[a-z0-9](?:-?[a-z0-9])*$/)
        expect(slugOf(namespace).length).toBeLessThanOrEqual(48)
      }),
    )
  })
})

test('usernameKey is the same for every case of a name, and stays as it is when applied again', () => {
  fc.assert(
    fc.property(fc.emailAddress(), (email) => {
      expect(usernameKey(email.toUpperCase())).toBe(usernameKey(email))
      expect(usernameKey(usernameKey(email))).toBe(usernameKey(email))
    }),
  )
  expect(usernameKey('ﬁ@x.y')).toBe(usernameKey('FI@x.y'))
})
