import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { addresses } from '../../src/providers/whatsapp/addresses.ts'

const addressIn = (phone: string | null | undefined) => addresses.find({ phone })

test.each([
  ['digits', '5511988887777', '5511988887777'],
  ['an international number', '+55 (11) 98888-7777', '5511988887777'],
  ['dots', '55.11.98888.7777', '5511988887777'],
  ['other dashes and spaces', '+55\u00a011\u201198888\u20137777', '5511988887777'],
  ['the marks of a copied contact', '\u202a+55 11 98888-7777\u202c', '5511988887777'],
  ['a tel: URI', 'tel:+55-11-98888-7777', '5511988887777'],
  ['a whatsapp: URI', 'whatsapp:+5511988887777', '5511988887777'],
])('%s is a phone number', (_name, text, phone) => {
  expect(addressIn(text)).toEqual({ kind: 'phone', value: phone })
})

test.each(['US.90210000000000000042', 'BR.ABC123DEF456', 'US.ENT.11815799212886844830'])(
  '%s is an id, taken as it is',
  (id) => {
    expect(addressIn(id)).toEqual({ kind: 'whatsapp', value: id })
  },
)

test.each([
  [undefined],
  [null],
  [''],
  ['+'],
  ['order 4711'],
  ['user-5511988887777'],
  ['5511988887777@s.whatsapp.net'],
  ['123456789012345@lid'],
  ['+1 555 123 4567 ext. 12'],
  ['5511988887777/5522977776666'],
  ['5511988887777, 5522977776666'],
  ['90210000000000000042'],
  ['us.90210000000000000042'],
  ['US.9021-0000'],
  ['Y2FwaV9ncm91cDoxMjM'],
  ['+55 11 98888-7777 +55 11 97777-6666'],
])('%j is nobody to write to', (text) => {
  expect(addressIn(text)).toBeUndefined()
})

test('a number is never made of the digits of a text that has letters', () => {
  const withLetter = fc
    .tuple(fc.string({ unit: fc.constantFrom(...'0123456789+- ().') }), fc.constantFrom(...'aZé@_:/,;#'))
    .chain(([text, letter]) =>
      fc.nat({ max: text.length }).map((at) => `${text.slice(0, at)}${letter}${text.slice(at)}`),
    )
  fc.assert(
    fc.property(withLetter, (text) => {
      expect(addressIn(text)?.kind).not.toBe('phone')
    }),
  )
})
