import { describe, expect, test } from '@jest/globals'
import { type Partition, type Partitions, startPartitions } from '@parley/dispatcher/schedule/partitions'
import type { Lease, LeaseStore } from '@parley/dispatcher/store/lease-store'
import { eventually } from '@parley/local/testing/service-under-test'
import { pause } from '@parley/shared/every'
import { createLog } from '@parley/shared/log'

/** All eight of them take longer than the second after which leases are renewed. */
const ACQUIRE_MS = 300

const log = createLog({ service: 'test', level: 'silent' })

/** Leases in memory, for one instance; a test says who else lives and what goes wrong. */
function createLeases() {
  const free = new Set([0, 1, 2, 3, 4, 5, 6, 7])
  const lost = new Set<Lease>()
  let term = 0
  const world = {
    instances: ['a'],
    failingReleases: 0,
    opened: [] as Partition[],
    renewed: [] as number[],
    /** Makes a lease stop holding, and its partition free. */
    lose(lease: Lease) {
      lost.add(lease)
      free.add(lease.partition)
    },
  }
  const store: LeaseStore = {
    beat: async () => world.instances,
    acquire: async () => {
      const [partition] = free
      if (partition === undefined) return undefined
      free.delete(partition)
      const lease: Lease = {
        ...{ generation: 1, partition, term: ++term, repeatsUntil: undefined },
        isValid: () => !lost.has(lease),
      }
      return lease
    },
    renew: async (leases) => {
      world.renewed = leases.filter((lease) => !lost.has(lease)).map(({ term }) => term)
    },
    release: async (lease) => {
      if (world.failingReleases-- > 0) throw new Error('the database is unavailable')
      if (!lost.has(lease)) free.add(lease.partition)
    },
    leave: async () => {},
  }
  return { world, store }
}

function start(
  { world, store }: ReturnType<typeof createLeases>,
  release: (lease: Lease) => Promise<void> = async () => {},
): Partitions {
  return startPartitions({
    leases: store,
    layout: async () => ({ partitions: 8 }),
    instance: 'a',
    open: (lease) => {
      const partition: Partition = {
        lease,
        oldestAt: () => undefined,
        isDrained: () => false,
        waiting: async () => new Map(),
        attach: () => {},
        release: () => release(lease),
        abandon: () => {},
      }
      world.opened.push(partition)
      return partition
    },
    log,
  })
}

const whenOpened = (world: { opened: Partition[] }, count: number) =>
  eventually(() => world.opened.length >= count)

describe('the partitions of an instance', () => {
  test('whose hand-over failed because the database was unavailable are worked again when this instance needs them', async () => {
    const leases = createLeases()
    const { world } = leases
    const partitions = start(leases)
    await whenOpened(world, 8)
    world.failingReleases = 4
    world.instances = ['a', 'b']
    await eventually(() => world.failingReleases === 0)
    world.instances = ['a']
    await whenOpened(world, 12)
    expect(new Set(world.opened.slice(8).map(({ lease }) => lease.partition)).size).toBe(4)
    await partitions.close()
  })

  test('are renewed before all of them are taken, where the database is slow', async () => {
    const { world, store } = createLeases()
    const openedWhenRenewed: number[] = []
    const slow: LeaseStore = {
      ...store,
      acquire: async () => {
        await pause(ACQUIRE_MS)
        return store.acquire([])
      },
      renew: async (leases) => void openedWhenRenewed.push(leases.length),
    }
    const partitions = start({ world, store: slow })
    await whenOpened(world, 8)
    expect(openedWhenRenewed[0]).toBeLessThan(8)
    await partitions.close()
  })

  test('that are lost while they are handed over, and taken again, stay', async () => {
    const leases = createLeases()
    const { world } = leases
    const settled = Promise.withResolvers<void>()
    const partitions = start(leases, (lease) => (lease.term <= 8 ? settled.promise : Promise.resolve()))
    await whenOpened(world, 8)
    world.instances = ['a', 'b']
    const handedOver = world.opened.slice(4).map(({ lease }) => lease)
    await eventually(() => world.renewed.length === 8)
    world.instances = ['a']
    for (const lease of handedOver) world.lose(lease)
    await whenOpened(world, 12)
    settled.resolve()
    const taken = world.opened.slice(8).map(({ lease }) => lease.term)
    world.renewed = []
    await eventually(() => world.renewed.length > 0)
    expect(world.renewed).toEqual(expect.arrayContaining(taken))
    await partitions.close()
  })
})
