import { describe, expect, test } from '@jest/globals'
import { personIn, personInResponse, reachedBy } from '../../src/providers/whatsapp/persons.ts'

const phone = (value: string) => ({ kind: 'phone', value })
const id = (value: string) => ({ kind: 'whatsapp', value })
const [OLD, NEW] = ['491701230001', '491701239999']
const system = (of: object, more: object = {}) => ({ type: 'system', ...more, system: of })

describe('a person is all that Meta names with a message', () => {
  test.each([
    ['a number', { from: OLD }, { wa_id: OLD }, [phone(OLD)]],
    ['a number and an id', { from: OLD, from_user_id: 'DE.1' }, { wa_id: OLD }, [phone(OLD), id('DE.1')]],
    ['an id alone', { from_user_id: 'DE.1' }, { user_id: 'DE.1' }, [id('DE.1')]],
    [
      'the id of a portfolio',
      { from_user_id: 'DE.1', from_parent_user_id: 'DE.ENT.1' },
      { user_id: 'DE.1', parent_user_id: 'DE.ENT.1' },
      [id('DE.1'), id('DE.ENT.1')],
    ],
    [
      'whom a status is about',
      { recipient_id: OLD, recipient_user_id: 'DE.1' },
      undefined,
      [phone(OLD), id('DE.1')],
    ],
  ])('%s', (_name, raw, contact, addresses) => {
    expect(personIn(raw, contact)).toEqual({ addresses })
  })

  test('never by a name, a user name, a text or a vCard', () => {
    const profile = { name: `changed from ${OLD} to ${NEW}`, username: NEW }
    const raw = { from: OLD, type: 'contacts', text: { body: NEW }, contacts: [{ wa_id: NEW }], wa: NEW }
    expect(personIn(raw, { profile, wa_id: OLD })).toEqual({ addresses: [phone(OLD)] })
  })

  test('nobody, where that is no address', () => {
    expect(personIn({ from: 'kim.test' }, { user_id: '90210' })).toBeUndefined()
  })

  test('and an id that looks like a number is none', () => {
    const raw = { from_user_id: '5511988887777' }
    expect([personIn(raw, raw), reachedBy(raw, undefined, '5511988887777')]).toEqual([undefined, undefined])
  })
})

describe('a notice of a change names what was and what is', () => {
  test.each([
    ['of the number', 'user_changed_number', { wa_id: NEW }],
    ['of the number, in an earlier version', 'user_changed_number', { new_wa_id: NEW }],
    ['of the number, in the earliest', 'customer_changed_number', { wa_id: NEW }],
  ])('%s, which the person left', (_name, type, of) => {
    const raw = system({ type, body: 'from one to another', ...of }, { from: OLD })
    expect(personIn(raw, undefined)).toEqual({ addresses: [phone(OLD), phone(NEW)], left: [phone(OLD)] })
    expect(reachedBy(raw, undefined, OLD)).toBe(NEW)
  })

  test('of the number with both ids', () => {
    const ids = { user_id: 'DE.2', previous_user_id: 'DE.1', parent_user_id: 'DE.ENT.2' }
    const raw = system({ type: 'user_changed_number', wa_id: NEW, ...ids }, { from: OLD })
    const { addresses, left } = personIn(raw, undefined) ?? {}
    expect(new Set(addresses)).toEqual(
      new Set([phone(OLD), phone(NEW), id('DE.1'), id('DE.2'), id('DE.ENT.2')]),
    )
    expect(left).toEqual([phone(OLD)])
  })

  test('of the id alone, in whose text nothing is believed', () => {
    const body = 'User DE.7 changed from DE.8 to DE.9'
    const of = { type: 'user_changed_user_id', body, user_id: 'DE.2', previous_user_id: 'DE.1' }
    const raw = system(of, { from_user_id: 'DE.1' })
    expect(personIn(raw, undefined)).toEqual({ addresses: [id('DE.1'), id('DE.2')] })
    expect(reachedBy(raw, undefined, 'DE.1')).toBe('DE.2')
  })

  test('of the identity, which names no other address', () => {
    const raw = system({ type: 'customer_identity_changed', wa_id: NEW }, { from: OLD })
    expect(personIn(raw, undefined)).toEqual({ addresses: [phone(OLD)] })
    expect(reachedBy(raw, undefined, OLD)).toBe(OLD)
  })
})

describe('the response to a send', () => {
  const response = (contacts: unknown, status = 200) =>
    personInResponse({
      status,
      headers: {},
      body: JSON.stringify({ contacts, messages: [{ id: 'wamid.1' }] }),
    })

  test.each([
    ['Brazil, with the ninth digit', '+5582991234567', '558291234567'],
    ['Brazil, without it', '558291234567', '5582991234567'],
    ['Argentina', '541155550001', '5491155550001'],
    ['Argentina, with 15', '54 11 15 5555 0001', '5491155550001'],
    ['Mexico', '525512345678', '5215512345678'],
    ['Germany, with the zero', '+49 (0) 170 1230001', OLD],
  ])('says how a number of %s is known', (_name, input, wa_id) => {
    expect(response([{ input, wa_id }])).toEqual({ addresses: [phone(wa_id)] })
  })

  test('says the id beside it, or alone', () => {
    expect(response([{ input: OLD, wa_id: OLD, user_id: 'DE.1' }])?.addresses).toEqual([
      phone(OLD),
      id('DE.1'),
    ])
    expect(response([{ input: 'DE.1', user_id: 'DE.1' }])?.addresses).toEqual([id('DE.1')])
  })

  test.each([
    [
      'a number without its country, which is somebody’s of another',
      [{ input: '11988887777', wa_id: '5511988887777' }],
    ],
    ['several contacts', [{ wa_id: OLD }, { wa_id: NEW }]],
    ['no contact', []],
    ['something else', 'contacts'],
  ])('says nothing of whom it went to with %s', (_name, contacts) => {
    expect(response(contacts)).toBeUndefined()
  })

  test('says nothing where the send was refused', () => {
    expect(response([{ input: OLD, wa_id: NEW }], 400)).toBeUndefined()
  })
})
