import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import type { Address } from '@parley/shared/providers/address'
import fc from 'fast-check'
import mongoose, { type Connection, type mongo } from 'mongoose'
import { MODEL_RUNS } from '../../../tests/sizes.ts'
import { collectionsOf, prepareDatabase } from '../src/database.ts'
import { createPeople, type People } from '../src/people/people.ts'
import type { PersonRecord } from '../src/people/person.ts'

const INSTANCES = 3
const RUNS = 10 * MODEL_RUNS

let connection: Connection
beforeAll(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('people') }).asPromise()
  await prepareDatabase(connection)
})
afterAll(async () => {
  await releaseDatabase(connection.db as never)
  await connection.close()
})

class Killed extends Error {}

/** An instance that dies right before or after so many statements; another takes its place. */
function startInstance(): { people: People; dieAt(statement: number, when: 'before' | 'after'): void } {
  let left = Number.POSITIVE_INFINITY
  let dies: 'before' | 'after' = 'before'
  const { people: stored } = collectionsOf(connection)
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (left-- === 0 && dies === 'before') throw new Killed()
    const result = await work()
    if (left === -1 && dies === 'after') throw new Killed()
    return result
  }
  const killable = new Proxy(stored, {
    get(target, name) {
      const method = Reflect.get(target, name)
      if (name === 'find')
        return (...args: Parameters<typeof stored.find>) => ({
          toArray: () => step(() => target.find(...args).toArray()),
        })
      return typeof method !== 'function'
        ? method
        : (...args: unknown[]) => step(() => method.apply(target, args))
    },
  }) as mongo.Collection<PersonRecord>
  return {
    people: createPeople({ people: killable, startSession: () => connection.getClient().startSession() }),
    dieAt(statement, when) {
      left = statement
      dies = when
    },
  }
}

/** The names by which WhatsApp identifies a person. */
interface Identity {
  phone: string | undefined
  id: string | undefined
  parent: string | undefined
}
const SHAPES = ['a number', 'a number and an id', 'an id alone', 'the id of a portfolio'] as const
const CHANGES = ['a username', 'a new number', 'a new id'] as const
type Change = (typeof CHANGES)[number]

const phone = (value: string): Address => ({ kind: 'phone', value })
const id = (value: string): Address => ({ kind: 'whatsapp', value })
let workspace = 0
let number = 0
const next = () => `49${workspace}0${++number}`

const identityOf = (shape: (typeof SHAPES)[number]): Identity => ({
  phone: shape === 'a number' || shape === 'a number and an id' ? next() : undefined,
  id: shape === 'a number' ? undefined : `DE.${next()}`,
  parent: shape === 'the id of a portfolio' ? `DE.ENT.${next()}` : undefined,
})

function addressesOf(...identities: Identity[]): Address[] {
  const named = identities.flatMap((one) => [
    ...(one.phone === undefined ? [] : [phone(one.phone)]),
    ...[one.id, one.parent].flatMap((value) => (value === undefined ? [] : [id(value)])),
  ])
  return [...new Map(named.map((one) => [one.value, one])).values()]
}

/** Returns the claim about a person who changes, and their identity after it. */
function changed(before: Identity, change: Change): { now: Identity; addresses: Address[]; left: Address[] } {
  if (change === 'a username') {
    const now = { ...before, id: before.id ?? `DE.${next()}` }
    // The number is named with the id once more, by a status, and then is not there.
    return { now: { ...now, phone: undefined }, addresses: addressesOf(now), left: [] }
  }
  // A new number brings a new id.
  const isNumbers = change === 'a new number' && before.phone !== undefined
  const now = {
    ...before,
    phone: isNumbers ? next() : before.phone,
    id: change === 'a new number' && before.id === undefined ? undefined : `DE.${next()}`,
  }
  const left = isNumbers && before.phone !== undefined ? [phone(before.phone)] : []
  return { now, addresses: addressesOf(before, now), left }
}

interface Death {
  statement: number
  when: 'before' | 'after'
}

/** Claims at an instance that dies; what was not confirmed comes again, to another one, as a provider has it. */
async function claimThrough(
  instances: ReturnType<typeof startInstance>[],
  claim: Parameters<People['claim']>[0],
  { at, death }: { at: number; death: Death | undefined },
): Promise<PersonRecord> {
  const instance = instances[at % instances.length] ?? startInstance()
  if (death !== undefined) instance.dieAt(death.statement, death.when)
  try {
    return await instance.people.claim(claim)
  } catch (error) {
    if (!(error instanceof Killed)) throw error
    instances[at % instances.length] = startInstance()
    return (instances[(at + 1) % instances.length] ?? startInstance()).people.claim(claim)
  } finally {
    instance.dieAt(Number.POSITIVE_INFINITY, 'before')
  }
}

const claimOf = (addresses: Address[], left: Address[] = []) => ({
  ...{ workspace, addresses, left },
  thread: addresses[0]?.value ?? '',
})
const death: fc.Arbitrary<Death> = fc.record({
  statement: fc.integer({ min: 0, max: 5 }),
  when: fc.constantFrom('before', 'after'),
})

test.each(SHAPES.flatMap((shape) => CHANGES.map((change) => [shape, change] as const)))(
  'who is named by %s, and gets %s, has one thread, before and behind whichever statement an instance dies',
  async (shape, change) => {
    for (const statement of [0, 1, 2, 3])
      for (const when of ['before', 'after'] as const) {
        workspace++
        const instances = Array.from({ length: INSTANCES }, startInstance)
        const before = identityOf(shape)
        const through = (one: ReturnType<typeof claimOf>, at: number) =>
          claimThrough(instances, one, { at, death: { statement, when } })
        const { threads } = await through(claimOf(addressesOf(before)), 0)
        const { now, addresses, left } = changed(before, change)
        await through(claimOf(addresses, left), 1)
        expect((await through(claimOf(addressesOf(now)), 2)).threads[0]).toBe(threads[0])
        expect(await collectionsOf(connection).people.countDocuments({ workspace })).toBe(1)
      }
  },
)

test('whatever several persons change, in whatever sequence, each has one thread of their own', async () => {
  const step = fc.record({
    change: fc.constantFrom(undefined, ...CHANGES),
    person: fc.integer({ min: 0, max: 2 }),
    at: fc.integer({ min: 0, max: INSTANCES - 1 }),
    death: fc.option(death, { nil: undefined }),
  })
  const shapes = fc.array(fc.constantFrom(...SHAPES), { minLength: 3, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(shapes, fc.array(step, { maxLength: 14 }), async (given, steps) => {
      workspace++
      const instances = Array.from({ length: INSTANCES }, startInstance)
      const persons = given.map((shape) => ({
        now: identityOf(shape),
        thread: undefined as string | undefined,
      }))
      const last = persons.map((_one, person) => ({ change: undefined, person, at: 0, death: undefined }))
      for (const { change, person, ...how } of [...steps, ...last]) {
        const one = persons[person]
        if (one === undefined) throw new Error('there are three')
        const { now, addresses, left } =
          change === undefined
            ? { now: one.now, addresses: addressesOf(one.now), left: [] }
            : changed(one.now, change)
        const { threads } = await claimThrough(instances, claimOf(addresses, left), how)
        one.thread ??= threads[0]
        one.now = now
        expect(threads[0]).toBe(one.thread)
      }
      expect(new Set(persons.map(({ thread }) => thread)).size).toBe(persons.length)
    }),
    { numRuns: RUNS },
  )
})

test('two who are joined are one person, whichever instance dies in the middle', async () => {
  await fc.assert(
    fc.asyncProperty(death, death, async (first, second) => {
      workspace++
      const [one, other] = [[phone('1')], [id('DE.1')]]
      const { people } = startInstance()
      await people.claim({ ...claimOf(one), since: new Date(1) })
      await people.claim({ ...claimOf(other), since: new Date(2) })
      const both = claimOf([...one, ...other])
      const instances = Array.from({ length: INSTANCES }, startInstance)
      for (const each of [first, second]) {
        const { threads } = await claimThrough(instances, both, { at: 0, death: each })
        expect(threads).toEqual(['1', 'DE.1'])
      }
      for (const address of both.addresses)
        expect(await startInstance().people.find(workspace, address)).toMatchObject({
          threads: ['1', 'DE.1'],
        })
      expect(await collectionsOf(connection).people.countDocuments({ workspace })).toBe(1)
    }),
    { numRuns: RUNS },
  )
})

test('claims of one person at many instances at once make one person', async () => {
  workspace++
  const instances = Array.from({ length: 6 }, startInstance)
  const addresses = [phone('5511'), id('BR.7'), id('BR.ENT.7')]
  const found = await Promise.all(
    instances.map(({ people }, at) =>
      people.claim({
        workspace,
        addresses: at % 2 === 0 ? addresses : addresses.slice(at % 3),
        thread: '5511',
      }),
    ),
  )
  const last = await instances[0]?.people.claim({ workspace, addresses, thread: '5511' })
  expect(await collectionsOf(connection).people.countDocuments({ workspace })).toBe(1)
  expect(last?.addresses.length).toBe(3)
  expect(found).toHaveLength(6)
})
