import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import fc from 'fast-check'
import mongoose, { type Connection, type mongo } from 'mongoose'
import { createLeases, type LeasedDocument } from '../src/lease.ts'

const IDS = ['a', 'b', 'c']
const LEASE_MS = 600_000
let connection: Connection
let documents: mongo.Collection<LeasedDocument>

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  connection = await mongoose.createConnection(mongoUrl, { dbName: freshDatabase('lease') }).asPromise()
  documents = connection.collection<LeasedDocument>('leased') as unknown as typeof documents
})
afterAll(async () => {
  if (connection.db) await releaseDatabase(connection.db)
  await connection.close()
})

const ownedBy = (owner: string) => createLeases({ collection: () => documents, owner, leaseMs: LEASE_MS })

/** The expected state: the owner of each document, whose lease may have run out, and the documents each owner claims. */
interface Model {
  owners: Map<string, { owner: string; isExpired: boolean }>
  taken: Map<string, Set<string>>
}

type Leases = ReturnType<typeof ownedBy>
type Command = fc.AsyncCommand<Model, Map<string, Leases>>

const command = (name: string, check: () => boolean, run: Command['run']): Command => ({
  check,
  run,
  toString: () => name,
})

const owner = fc.constantFrom('first', 'second')
const id = fc.constantFrom(...IDS)
const commands = [
  fc.tuple(owner, id).map(([who, what]) =>
    command(
      `${who} acquires ${what}`,
      () => true,
      async ({ owners, taken }, real) => {
        const current = owners.get(what)
        const isFree = current === undefined || current.owner === who || current.isExpired
        if (isFree) owners.set(what, { owner: who, isExpired: false })
        taken.get(who)?.[isFree ? 'add' : 'delete'](what)
        expect(await real.get(who)?.acquire(what)).toBe(isFree)
        expect(real.get(who)?.isValid(what)).toBe(isFree)
      },
    ),
  ),
  owner.map((who) =>
    command(
      `${who} renews`,
      () => true,
      async ({ owners, taken }, real) => {
        const before = [...(taken.get(who) ?? [])]
        const still = await real.get(who)?.renew(before)
        for (const what of before) {
          const isOurs = owners.get(what)?.owner === who
          if (isOurs) owners.set(what, { owner: who, isExpired: false })
          else taken.get(who)?.delete(what)
          expect([what, still?.has(what), real.get(who)?.isValid(what)]).toEqual([what, isOurs, isOurs])
        }
      },
    ),
  ),
  fc.tuple(owner, id).map(([who, what]) =>
    command(
      `${who} releases ${what}`,
      () => true,
      async ({ owners, taken }, real) => {
        if (owners.get(what)?.owner === who) owners.delete(what)
        taken.get(who)?.delete(what)
        await real.get(who)?.release(what)
        expect(real.get(who)?.isValid(what)).toBe(false)
      },
    ),
  ),
  id.map((what) =>
    command(
      `the lease of ${what} runs out`,
      () => true,
      async ({ owners }) => {
        const current = owners.get(what)
        if (current !== undefined) current.isExpired = true
        await documents.updateOne(
          { _id: what, owner: { $exists: true } },
          { $set: { expiresAt: new Date(0) } },
        )
      },
    ),
  ),
]

test('whatever two owners take, renew and release, a document is whose the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 30 }), async (run) => {
      await documents.deleteMany({})
      const names = ['first', 'second']
      await fc.asyncModelRun(
        () => ({
          model: { owners: new Map(), taken: new Map(names.map((name) => [name, new Set<string>()])) },
          real: new Map(names.map((name) => [name, ownedBy(name)])),
        }),
        run,
      )
    }),
    { numRuns: 60 },
  )
})

test('of many that ask at once for a document that is not there yet, one gets its lease', async () => {
  for (let round = 0; round < 10; round++) {
    const asked = Array.from({ length: 8 }, (_, n) => ownedBy(`owner ${n}`).acquire(`new ${round}`))
    expect((await Promise.all(asked)).filter(Boolean)).toEqual([true])
  }
})
