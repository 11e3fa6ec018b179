import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { requestChange } from '../../src/layout/change-layout.ts'
import { type LayoutWorld, startLayoutWorld } from './layout-world.ts'

let world: LayoutWorld
beforeAll(async () => {
  world = await startLayoutWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  await world.collections.layouts.deleteMany({})
  await world.collections.partitions.deleteMany({})
})

const leases = () => world.collections.partitions.countDocuments()

describe('the number of partitions', () => {
  test('is that of the instance that is started first, whatever later ones are given', async () => {
    await world.prepare(5)
    await world.prepare(7)
    expect(await world.layout()).toEqual({ _id: 'messages', generation: 1, partitions: 5, isAnnounced: true })
    expect(await leases()).toBe(5)
  })

  test('is one number when several are started at once with different ones', async () => {
    await Promise.all([3, 4, 5, 6].map((partitions) => world.prepare(partitions)))
    expect(await leases()).toBe((await world.layout()).partitions)
  })

  test('stays that of a version without layouts, whose keys lead there too, and webhooks do not use slots yet', async () => {
    const free = { owner: null, term: 4, expiresAt: new Date(0) }
    await world.collections.partitions.insertMany(Array.from({ length: 8 }, (_, _id) => ({ _id, ...free })))
    await world.prepare(16)
    expect(await world.layout()).toEqual({ _id: 'messages', generation: 1, partitions: 8, earlierKeys: true })
    expect(await leases()).toBe(8)
  })

  test('is not changed to another one while a change is under way', async () => {
    await world.prepare(4)
    await requestChange(world.collections, 9)
    await requestChange(world.collections, 9)
    await expect(requestChange(world.collections, 10)).rejects.toThrow('Another change is under way')
    expect((await world.layout()).change).toMatchObject({ partitions: 9, phase: 'requested' })
  })
})
