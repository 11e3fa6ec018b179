import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Claim, type PersonRecord, type Settled, settle } from '../src/people/person.ts'

const P1 = 'phone:5511900000001'
const P2 = 'phone:5511900000002'
const ID1 = 'whatsapp:BR.1'
const ID2 = 'whatsapp:BR.2'
const PARENT = 'whatsapp:BR.ENT.9'
const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 0, minute))
const textOf = (address: string) => address.slice(address.indexOf(':') + 1)

const claimOf = (addresses: string[], more: Partial<Claim> = {}): Claim => ({
  ...{ workspace: 1, addresses, left: [], thread: textOf(addresses[0] ?? ''), since: at(10) },
  ...more,
})
let made = 0
const fresh = () => ({ _id: `person ${++made}`, expiresAt: at(1_000) })
/** The persons after a claim was settled among them. */
const after = (known: PersonRecord[], { person, joined, without }: Settled): PersonRecord[] => {
  const gone = new Set([person, ...joined, ...without].map(({ _id }) => _id))
  return [...known.filter(({ _id }) => !gone.has(_id)), ...without, person]
}
const settleAll = (claims: Claim[]) =>
  claims.reduce((known, claim) => after(known, settle(known, claim, fresh())), [] as PersonRecord[])
/** Whose thread a claim leads to after others. */
const threadAfter = (earlier: Claim[], claim: Claim) =>
  settle(settleAll(earlier), claim, fresh()).person.threads[0]

describe('a person', () => {
  const changes: [string, Claim][] = [
    ['takes a username', claimOf([ID1])],
    ['has a new number', claimOf([P1, ID1, P2], { left: [P1] })],
    ['has a new id', claimOf([ID1, ID2])],
    ['is named by the parent id', claimOf([ID2, PARENT])],
  ]

  test.each(changes)('who %s has the thread that they had', (_name, change) => {
    expect(threadAfter([claimOf([P1, ID1, PARENT])], change)).toBe(textOf(P1))
  })

  test('is found by each address that was ever named with one of theirs', () => {
    const before = [claimOf([P1]), claimOf([P1, ID1]), claimOf([ID1, PARENT]), claimOf([PARENT, ID2])]
    for (const address of [P1, ID1, ID2, PARENT])
      expect(threadAfter(before, claimOf([address]))).toBe(textOf(P1))
  })

  test('nothing new is said of is not written', () => {
    const known = settleAll([claimOf([P1, ID1])])
    for (const addresses of [[P1, ID1], [ID1], [P1]])
      expect(settle(known, claimOf(addresses), fresh())).toMatchObject({ change: 'none', joined: [] })
  })
})

describe('two who turn out to be one', () => {
  test('go on in the thread that is known longer, whoever names them', () => {
    const before = [claimOf([ID1], { since: at(1) }), claimOf([P1], { since: at(2) })]
    for (const named of [
      [ID1, P1],
      [P1, ID1],
    ]) {
      const { person, joined } = settle(settleAll(before), claimOf(named), fresh())
      expect([person.threads, joined.length]).toEqual([[textOf(ID1), textOf(P1)], 1])
      expect(new Set(person.addresses)).toEqual(new Set([ID1, P1]))
    }
  })

  test('go on in a thread that was written to before either was known', () => {
    const known = settleAll([claimOf([ID1], { since: at(5) })])
    const { person } = settle(known, claimOf([P1, ID1], { since: at(1) }), fresh())
    expect(person).toMatchObject({ threads: [textOf(P1), textOf(ID1)], since: at(1) })
  })

  test('have the thread of a number, which callers may have written to, joined with the number', () => {
    const { person } = settle(settleAll([claimOf([ID1])]), claimOf([ID1, P1]), fresh())
    expect(person.threads).toEqual([textOf(ID1), textOf(P1)])
  })
})

describe('a number that a person left', () => {
  const moved = [claimOf([P1, ID1]), claimOf([P1, P2], { left: [P1] })]

  test('still leads callers to them', () => {
    expect(settleAll(moved)[0]).toMatchObject({ addresses: [P1, ID1, P2], left: [P1] })
  })

  test.each([
    ['alone', [P1]],
    ['with an id', [P1, ID2]],
  ])('is of whoever writes from it next, %s, in a thread of their own', (_name, addresses) => {
    const { person, joined, without } = settle(settleAll(moved), claimOf(addresses), fresh())
    expect(person).toMatchObject({ addresses, left: [] })
    expect(person.threads[0]).not.toBe(textOf(P1))
    expect([joined, without.map((one) => one.addresses)]).toEqual([[], [[ID1, P2]]])
  })

  test('does not join those two when what they said before comes again, or late', () => {
    const both = settleAll([...moved, claimOf([P1, ID2])])
    for (const late of [claimOf([P1, P2], { left: [P1] }), claimOf([P1, ID1])]) {
      const { person, joined } = settle(both, late, fresh())
      expect([person.threads[0], joined]).toEqual([textOf(P1), []])
    }
  })

  test('is theirs again once they say that they came back to it', () => {
    const back = claimOf([P2, P1], { left: [P2] })
    expect(settleAll([...moved, back])[0]).toMatchObject({ left: [P2] })
    expect(threadAfter([...moved, back], claimOf([P1]))).toBe(textOf(P1))
  })
})

test('whatever is claimed, an address and a thread are one person’s, who is at one of their addresses', () => {
  const address = fc.constantFrom(P1, P2, 'phone:1', 'phone:2', ID1, ID2, PARENT, 'whatsapp:BR.3')
  const claim = fc
    .record({
      addresses: fc.uniqueArray(address, { minLength: 1, maxLength: 4 }),
      leaves: fc.boolean(),
      minute: fc.integer({ min: 0, max: 20 }),
    })
    .map(({ addresses, leaves, minute }) =>
      claimOf(addresses, {
        since: at(minute),
        left: leaves && addresses[0]?.startsWith('phone:') && addresses.length > 1 ? [addresses[0]] : [],
      }),
    )
  fc.assert(
    fc.property(fc.array(claim, { maxLength: 12 }), (claims) => {
      let known: PersonRecord[] = []
      for (const one of claims) {
        const settled = settle(known, one, fresh())
        known = after(known, settled)
        const all = (field: 'addresses' | 'threads') => known.flatMap((person) => person[field])
        for (const field of ['addresses', 'threads'] as const)
          expect(new Set(all(field)).size).toBe(all(field).length)
        for (const { addresses, left } of known)
          expect(addresses.some((each) => !left.includes(each))).toBe(true)
        // Said once more, it says nothing new.
        expect(settle(known, one, fresh()).person._id).toBe(settled.person._id)
      }
    }),
  )
})
