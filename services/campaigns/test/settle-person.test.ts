import { expect, test } from '@jest/globals'
import { peopleOfClaim, settlePerson } from '../src/people/settle-person.ts'
import type { PersonRecord } from '../src/store/person-record.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
const [OLD, NOW, ID] = ['phone:1', 'phone:2', 'whatsapp:BR.1']

const person = (_id: string, addresses: string[], more: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ _id, workspace: 1, addresses, attributes: {}, tags: [], consent: {}, revision: 0 },
  ...{ createdAt: at(0), updatedAt: at(0), ...more },
})
/** Returns the people that result from a claim, and the people whom it meant. */
function settled(people: PersonRecord[], claim: Parameters<typeof peopleOfClaim>[0]) {
  const byAddress = new Map(people.flatMap((one) => one.addresses.map((address) => [address, one] as const)))
  const before = peopleOfClaim(claim, byAddress)
  const result = settlePerson(before, { ...claim, workspace: 1 }, { _id: 'new', now: at(60) })
  return { before: before.map(({ _id }) => _id), ...result }
}

test.each([
  ['who is known by the old one', [person('a', [OLD, ID])], [ID, NOW]],
  [
    'who wrote from the new one already',
    [person('a', [OLD], { lastContactAt: at(9) }), person('b', [NOW])],
    [NOW],
  ],
  ['who was told of before', [person('a', [OLD, NOW])], [NOW]],
])('another number in the place of one: %s', (_name, people, addresses) => {
  const { person: now, change } = settled(people, {
    addresses: [NOW],
    left: { addresses: [OLD], at: at(10) },
  })
  expect([now._id, change]).toEqual(['a', 'changed'])
  expect(now.addresses.toSorted()).toEqual(addresses.toSorted())
})

test('whoever wrote from a number after it was left is somebody else', () => {
  const granted = { marketing: { status: 'granted', at: at(0), source: 'import' } } as const
  const ana = person('a', [ID, NOW])
  const next = person('b', [OLD], { lastContactAt: at(11), consent: granted })
  const {
    before,
    person: now,
    change,
  } = settled([ana, next], { addresses: [ID], left: { addresses: [OLD], at: at(10) } })
  expect([before, now, change]).toEqual([['a'], ana, 'none'])
})
