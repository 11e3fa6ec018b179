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
const RUNS = 20 * MODEL_RUNS

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

interface Identity {
  phone: string | undefined
  id: string | undefined
  parent: string | undefined
  /** What was ever theirs and can be claimed: nobody is found by anything else. */
  thread: string | undefined
}

type Step = { kind: 'writes'; person: number } | { kind: 'username' | 'number' | 'id'; person: number }
type Run = Step & { instance: number; dies: number | undefined; when: 'before' | 'after' }

const shape = fc.constantFrom('phone', 'phone and id', 'id', 'parent')
const step: fc.Arbitrary<Run> = fc.record({
  kind: fc.constantFrom('writes', 'username', 'number', 'id'),
  person: fc.integer({ min: 0, max: 2 }),
  instance: fc.integer({ min: 0, max: INSTANCES - 1 }),
  dies: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
  when: fc.constantFrom('before', 'after'),
})

const phone = (value: string): Address => ({ kind: 'phone', value })
const id = (value: string): Address => ({ kind: 'whatsapp', value })

test('whatever persons change, and whichever instance dies between which steps, each has one thread', async () => {
  let workspace = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(shape, { minLength: 3, maxLength: 3 }),
      fc.array(step, { maxLength: 14 }),
      async (shapes, steps) => {
        workspace++
        let number = 0
        const next = () => `${workspace}0${++number}`
        const instances = Array.from({ length: INSTANCES }, startInstance)
        const persons = shapes.map(
          (one): Identity => ({
            phone: one === 'phone' || one === 'phone and id' ? next() : undefined,
            id: one === 'phone' ? undefined : `BR.${next()}`,
            parent: one === 'parent' ? `BR.ENT.${next()}` : undefined,
            thread: undefined,
          }),
        )
        for (const { kind, person: at, instance, dies, when } of [
          ...steps,
          ...persons.map(
            (_, person) =>
              ({ kind: 'writes', person, instance: 0, dies: undefined, when: 'before' }) as const,
          ),
        ]) {
          const person = persons[at] as Identity
          const before = { ...person }
          const left: Address[] = []
          // Of who is known by a phone number alone, an id comes with it once; then the number may go.
          if (kind === 'id') person.id = `BR.${next()}`
          if (kind === 'username' && person.id !== undefined) person.phone = undefined
          if (kind === 'number' && person.phone !== undefined) {
            left.push(phone(person.phone))
            person.phone = next()
          }
          const all = [before.phone, person.phone].flatMap((one) => (one === undefined ? [] : phone(one)))
          const ids = [before.id, person.id, person.parent].flatMap((one) =>
            one === undefined ? [] : id(one),
          )
          const named =
            kind === 'number' || kind === 'id'
              ? [...all, ...ids]
              : [
                  person.phone === undefined ? [] : phone(person.phone),
                  [person.id, person.parent].flatMap((one) => (one === undefined ? [] : id(one))),
                ].flat()
          const addresses = [...new Map(named.map((one) => [one.value, one])).values()]
          const claim = { workspace, addresses, left, thread: addresses[0]?.value ?? '' }
          if (dies !== undefined) instances[instance]?.dieAt(dies, when)
          // What was not confirmed comes again, to another instance.
          const record = await instances[instance]?.people.claim(claim).catch(async (error: unknown) => {
            if (!(error instanceof Killed)) throw error
            instances[instance] = startInstance()
            return instances[(instance + 1) % INSTANCES]?.people.claim(claim)
          })
          instances[instance]?.dieAt(Number.POSITIVE_INFINITY, 'before')
          person.thread ??= record?.threads[0]
          expect(record?.threads[0]).toBe(person.thread)
        }
        const threads = persons.map(({ thread }) => thread)
        expect(new Set(threads).size).toBe(threads.length)
      },
    ),
    { numRuns: RUNS },
  )
})

test('two who are joined are one person, whichever instance dies in the middle', async () => {
  const where = fc.record({
    dies: fc.integer({ min: 0, max: 5 }),
    when: fc.constantFrom('before' as const, 'after' as const),
  })
  let at = 0
  await fc.assert(
    fc.asyncProperty(where, where, async (first, second) => {
      const workspace = 10_000 + ++at
      const claims = [[phone('1')], [id('BR.1')], [phone('1'), id('BR.1')]].map((addresses) => ({
        ...{ workspace, addresses, thread: addresses[0]?.value ?? '' },
      }))
      const [one, other, both] = claims
      if (one === undefined || other === undefined || both === undefined) throw new Error('there are three')
      await startInstance().people.claim({ ...one, since: new Date(1) })
      await startInstance().people.claim({ ...other, since: new Date(2) })
      for (const { dies, when } of [first, second]) {
        const instance = startInstance()
        instance.dieAt(dies, when)
        await instance.people.claim(both).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error
        })
      }
      const { people } = startInstance()
      expect(await people.claim(both)).toMatchObject({ threads: ['1', 'BR.1'] })
      for (const address of both.addresses)
        expect(await people.find(workspace, address)).toMatchObject({ threads: ['1', 'BR.1'] })
      expect(await collectionsOf(connection).people.countDocuments({ workspace })).toBe(1)
    }),
    { numRuns: RUNS },
  )
})

test('claims of one person at many instances at once make one person', async () => {
  const workspace = 1_000_000
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
