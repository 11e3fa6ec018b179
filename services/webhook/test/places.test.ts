import { expect, test } from '@jest/globals'
import type { NamedPerson } from '@parley/shared/providers/address'
import type { Update } from '@parley/shared/providers/inbound'
import { placesOf } from '../src/inbound/places.ts'
import type { People } from '../src/people/people.ts'
import type { PersonRecord } from '../src/people/person.ts'

const phone = (value: string) => ({ kind: 'phone', value })
const update = (thread: string, person?: NamedPerson): Update => ({
  ...{ kind: 'message', fate: 'accepted', path: '/', raw: {}, id: thread, person },
  message: { user: {}, thread: { extId: thread }, answer: {} },
})
const record = (threads: string[], addresses: string[], left: string[] = []): PersonRecord => ({
  ...{ _id: 'p', workspace: 1, threads, addresses, left, since: new Date(0), revision: 0 },
  expiresAt: new Date(0),
})
/** Everybody is the same person, and claims of one address are never under way together. */
function claiming(person: PersonRecord) {
  const claims: string[] = []
  const busy = new Set<string>()
  let most = 0
  const claim: People['claim'] = async ({ addresses }) => {
    const names = addresses.map(({ value }) => value)
    expect(names.filter((name) => busy.has(name))).toEqual([])
    for (const name of names) busy.add(name)
    most = Math.max(most, busy.size)
    await new Promise(setImmediate)
    for (const name of names) busy.delete(name)
    claims.push(names.join(' '))
    return person
  }
  return { people: { claim, note: async () => {} }, claims, most: () => most }
}

test('a message goes to its person’s thread, with all addresses that they did not leave', async () => {
  const ana = record(['1', '2'], ['phone:1', 'phone:2', 'whatsapp:BR.1'], ['phone:1'])
  const one = update('2', { addresses: [phone('2')] })
  const places = await placesOf(claiming(ana).people, { workspace: 1, updates: [one] })
  expect(places.get(one)).toEqual({
    ...{ thread: '1', joined: ['2'], left: [] },
    message: { user: { addresses: ['phone:2', 'whatsapp:BR.1'] }, thread: { extId: '1' }, answer: {} },
  })
})

test('a message says which addresses its person leaves with it, but for one that somebody else has since', async () => {
  const [moving, late] = [['phone:1', 'phone:2'], ['phone:2']].map((addresses) =>
    record(['1'], addresses, ['phone:1']),
  ) as [PersonRecord, PersonRecord]
  const leaves = update('2', { addresses: [phone('1'), phone('2')], left: [phone('1')] })
  const writes = update('2', { addresses: [phone('2')] })
  const leftOf = async (ana: PersonRecord, one: Update) =>
    (await placesOf(claiming(ana).people, { workspace: 1, updates: [one] })).get(one)?.left
  expect(await leftOf(moving, leaves)).toEqual(['phone:1'])
  expect(await leftOf(moving, writes)).toEqual([])
  expect(await leftOf(late, leaves)).toEqual([])
})

test('persons are taken together, what is said of one of them in sequence', async () => {
  const { people, claims, most } = claiming(record(['t'], ['phone:1']))
  const names = ['1', '2', '3', '1', '4', '1']
  const updates = names.map((name) => update(name, { addresses: [phone(name)] }))
  await placesOf(people, { workspace: 1, updates })
  expect(claims).toEqual(names)
  expect(most()).toBe(3)
})

test.each([['x'.repeat(1_025)], ['\ud800'], ['']])(
  'nobody is claimed by what is no name: %j',
  async (thread) => {
    const { people, claims } = claiming(record(['t'], ['phone:1']))
    const one = update(thread, { addresses: [phone('1')] })
    const places = await placesOf(people, { workspace: 1, updates: [one] })
    expect([claims, places.get(one)?.thread]).toEqual([[], thread])
  },
)
