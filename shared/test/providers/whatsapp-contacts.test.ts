import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { unstorable } from '../../src/json-body.ts'
import { contactsIn, idsOf } from '../../src/providers/whatsapp/contacts.ts'

const reading = { isStorable: (value: unknown) => unstorable(value).length === 0 }
const ids = fc.constantFrom('1', '2', '3', '4')
const person = fc.record({ wa_id: ids, user_id: ids, from: ids }, { requiredKeys: [] })
const contact = fc.oneof(person, fc.constantFrom(0, null, 'text'))

/** By looking through all of them for each message. */
function senderOf(raw: unknown, contacts: unknown[]): unknown {
  const own = idsOf(raw)
  const named = contacts.find((contact) => idsOf(contact).some((id) => own.includes(id)))
  return named ?? (contacts.length === 1 && own.length === 0 ? contacts[0] : undefined)
}

describe('the contact that a message is from', () => {
  test('is the first that shares an id with it, or one that stands alone where the message names nobody', () => {
    fc.assert(
      fc.property(fc.array(contact, { maxLength: 5 }), person, (contacts, raw) => {
        expect(contactsIn(contacts, reading).senderOf(raw)).toBe(senderOf(raw, contacts))
      }),
    )
  })

  test('is never one that can not be stored', () => {
    const unstored = { wa_id: '1', profile: { name: '\ud800' } }
    const stored = { wa_id: '1' }
    expect(contactsIn([unstored, stored], reading).senderOf({ from: '1' })).toBe(stored)
    expect(contactsIn([unstored], reading).senderOf({})).toBeUndefined()
  })

  test('is found without looking through all contacts for each message', () => {
    let reads = 0
    const counted = (contact: object) =>
      new Proxy(contact, {
        getOwnPropertyDescriptor(target, key) {
          reads++
          return Reflect.getOwnPropertyDescriptor(target, key)
        },
      })
    const all = Array.from({ length: 1_000 }, (_, n) => counted({ wa_id: `${n}` }))
    const contacts = contactsIn(all, reading)
    for (let n = 0; n < 1_000; n++) contacts.senderOf({ from: `${n % 7}`, id: `${n}` })
    expect(reads).toBeGreaterThan(0)
    expect(reads).toBeLessThan(20_000)
  })
})
