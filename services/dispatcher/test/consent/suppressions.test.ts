import { expect, test } from '@jest/globals'
import { createSecretBox, secretKeyring, secretKeysOf } from '@parley/shared/sealed-value'
import fc from 'fast-check'
import { createAddressHash } from '../../src/consent/address-hash.ts'
import { createSuppressions, type SuppressionChange } from '../../src/consent/suppressions.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })
const box = createSecretBox(secretKeysOf({}))
const AT = new Date('2026-01-01T00:00:00Z')
let workspaces = 0

const suppressionsNow = () =>
  createSuppressions(database.collections, createAddressHash(database.collections, box))
const change = (workspace: number, own: Partial<SuppressionChange>): SuppressionChange => ({
  ...{ workspace, addresses: ['phone:5511988887777'], purpose: 'marketing', status: 'withdrawn' },
  ...{ source: 'message', at: AT, ...own },
})
const later = (seconds: number) => new Date(AT.getTime() + seconds * 1_000)
const marketing = (workspace: number, ...addresses: string[]) =>
  suppressionsNow().isOptedOut({ workspace, addresses, purposes: ['marketing'] })

test('each address of a person that opted out is suppressed, in its workspace and for its purpose alone', async () => {
  const workspace = ++workspaces
  const addresses = ['phone:4930901820', 'whatsapp:DE.1']
  await suppressionsNow().change([change(workspace, { addresses })])
  expect(await marketing(workspace, 'phone:1', 'whatsapp:DE.1')).toBe(true)
  expect(await marketing(workspace, 'phone:4930901820')).toBe(true)
  expect(await marketing(workspace + 100, 'phone:4930901820')).toBe(false)
  const service = { workspace, addresses, purposes: ['service'] as const }
  expect(await suppressionsNow().isOptedOut(service)).toBe(false)
})

test('a number is the same however its country has it written', async () => {
  const workspace = ++workspaces
  await suppressionsNow().change([
    change(workspace, { addresses: ['phone:551188887777', 'phone:5215512345678'] }),
  ])
  expect(await marketing(workspace, 'phone:5511988887777')).toBe(true)
  expect(await marketing(workspace, 'phone:525512345678')).toBe(true)
  // A landline has no ninth digit.
  expect(await marketing(workspace, 'phone:551138887777')).toBe(false)
})

test('whatever the sequence in which it comes, what was said last counts', async () => {
  const said = fc.array(fc.tuple(fc.integer({ min: 0, max: 20 }), fc.constantFrom('withdrawn', 'granted')), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(said, fc.boolean(), async (list, isAtOnce) => {
      const workspace = ++workspaces
      const unique = [...new Map(list)]
      const changes = unique.map(([seconds, status]) => change(workspace, { status, at: later(seconds) }))
      if (isAtOnce) await Promise.all(changes.map((one) => suppressionsNow().change([one])))
      else for (const one of changes) await suppressionsNow().change([one])
      const last = unique.toSorted(([one], [other]) => other - one)[0]?.[1]
      expect(await marketing(workspace, 'phone:5511988887777')).toBe(last === 'withdrawn')
    }),
    { numRuns: 25 },
  )
})

test('what a file agrees to for somebody who never opted out is not stored, and takes back what they said before', async () => {
  const workspace = ++workspaces
  const file = { source: 'import', status: 'granted' } as const
  await suppressionsNow().change([change(workspace, file)])
  expect(await database.collections.suppressions.countDocuments({ workspace })).toBe(0)
  await suppressionsNow().change([change(workspace, {}), change(workspace, { ...file, at: later(1) })])
  expect(await marketing(workspace, 'phone:5511988887777')).toBe(false)
})

test('an address that turns out to be the same person’s is suppressed as the others are, and both again when they opt in', async () => {
  const workspace = ++workspaces
  await suppressionsNow().change([change(workspace, { addresses: ['whatsapp:BR.1'] })])
  expect(await marketing(workspace, 'phone:5511988887777')).toBe(false)
  const person = { workspace, addresses: ['phone:5511988887777', 'whatsapp:BR.1'] }
  await suppressionsNow().spread([person])
  expect(await marketing(workspace, 'phone:5511988887777')).toBe(true)
  await suppressionsNow().change([change(workspace, { status: 'granted', at: later(1) })])
  await suppressionsNow().spread([person])
  expect(await marketing(workspace, 'whatsapp:BR.1')).toBe(false)
})

test('what was said of an address that somebody left counts for where they are now, and nothing that they say later for whoever has it next', async () => {
  const workspace = ++workspaces
  const [old, now] = ['phone:5511988887777', 'phone:5511988886666']
  const moved = { workspace, addresses: [now], left: [old] }
  await suppressionsNow().change([change(workspace, { addresses: [old] })])
  await suppressionsNow().spread([moved])
  expect(await marketing(workspace, now)).toBe(true)
  await suppressionsNow().change([
    change(workspace, { addresses: [now], status: 'granted', at: later(1), source: 'message' }),
  ])
  await suppressionsNow().spread([moved])
  expect([await marketing(workspace, now), await marketing(workspace, old)]).toEqual([false, true])
})

test('no address can be read from what is stored, and it is found again when the environment’s keys are rotated', async () => {
  const workspace = ++workspaces
  await suppressionsNow().change([change(workspace, {})])
  const stored = JSON.stringify(await database.collections.suppressions.find().toArray())
  expect(stored).not.toContain('88887777')
  const older = Buffer.alloc(32, 'development').toString('base64')
  const rotated = secretKeyring.parse(`new:${Buffer.alloc(32, 'n').toString('base64')},development:${older}`)
  const withRotated = createAddressHash(database.collections, createSecretBox(rotated))
  const of = { workspace, addresses: ['phone:5511988887777'], purposes: ['marketing'] as const }
  expect(await createSuppressions(database.collections, withRotated).isOptedOut(of)).toBe(true)
  // The key is sealed anew: the older one may go.
  const later = secretKeyring.parse(`new:${Buffer.alloc(32, 'n').toString('base64')}`)
  const withNew = createAddressHash(database.collections, createSecretBox(later))
  expect(await createSuppressions(database.collections, withNew).isOptedOut(of)).toBe(true)
  const foreign = secretKeyring.parse(`other:${Buffer.alloc(32, 'o').toString('base64')}`)
  const withForeign = createAddressHash(database.collections, createSecretBox(foreign))
  await expect(createSuppressions(database.collections, withForeign).isOptedOut(of)).rejects.toMatchObject({
    code: 'unavailable',
  })
})
