import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createReplica } from '@parley/shared/config-replica/replica'
import type { ReplicaStore } from '@parley/shared/config-replica/replica-store'
import { createLog } from '@parley/shared/log'
import { createChannels } from '../src/channels.ts'
import { createFindHook, type FindHook } from '../src/inbound/find-hook.ts'
import { createWorkspaces } from '../src/workspaces.ts'
import { metaChannel } from './meta-payload.ts'

let calls: string[]
let waiting: (() => void)[]
let isSilent: boolean
let find: (slug: string, channelExtId: string) => ReturnType<FindHook>

/** Counts a call, and answers it at once unless nobody answers. */
async function counted<T>(name: string, result: T): Promise<T> {
  calls.push(name)
  if (isSilent) await new Promise<void>((resolve) => waiting.push(resolve))
  return result
}

beforeEach(() => {
  calls = []
  waiting = []
  isSilent = false
  const store: ReplicaStore = {
    read: () => counted('replicas', []),
    save: async () => undefined,
    saveResponse: () => counted('save', undefined),
  }
  const channel = { ...metaChannel('line'), _id: 1, version: 1 }
  const configuration = {
    get: (path: string) =>
      counted('configuration', { data: path.endsWith('/7/channels?extId=line') ? [channel] : [] }),
  }
  const identity = {
    get: (path: string) => counted('identity', path.endsWith('/acme') ? { _id: 7 } : undefined),
  }
  const known = { findOne: () => counted('slugs', null), updateOne: () => counted('save', undefined) }
  const log = createLog({ service: 'test', level: 'silent' })
  const replica = createReplica({
    ...{ store, configuration, log },
    ...{ freshMs: 600_000, missesFreshMs: 600_000 },
  })
  const workspaces = createWorkspaces({ identity, known: known as never })
  const findHook = createFindHook({ workspaces, channels: createChannels(replica) })
  find = (slug, channelExtId) => findHook({ provider: 'whatsapp', slug, channelExtId })
})
afterEach(() => {
  for (const respond of waiting) respond()
})

test('however many addresses are asked for that nobody has, those that are known cost no look-up', async () => {
  expect(await find('acme', 'line')).toMatchObject({ channel: { _id: 1, workspace: 7 } })
  expect(calls).toEqual(['slugs', 'identity', 'save', 'replicas', 'configuration', 'save'])
  calls = []
  for (let n = 0; n < 10_001; n++) expect(await find(`nobody-${n}`, `line-${n}`)).toBeUndefined()
  for (let n = 0; n < 10_001; n++) expect(await find('acme', `line-${n}`)).toBeUndefined()
  expect(calls.filter((call) => call === 'save')).toEqual([])
  calls = []
  expect(await find('acme', 'line')).toMatchObject({ channel: { _id: 1, workspace: 7 } })
  expect(calls).toEqual([])
})

test.each([
  ['nobody', 512],
  ['acme', 1_000],
])('of addresses below %s that nobody knows, %i are looked up at once', async (slug, most) => {
  await find('acme', 'line')
  calls = []
  isSilent = true
  const slugOf = (n: number) => (slug === 'acme' ? slug : `${slug}-${n}`)
  const misses = Array.from({ length: most + 200 }, (_, n) => find(slugOf(n), `line-${n}`))
  const refused = await Promise.allSettled(misses.slice(most))
  for (const outcome of refused)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
  expect(calls.length).toBe(most)
  expect(await find('acme', 'line')).toMatchObject({ channel: { _id: 1 } })
  isSilent = false
  for (const respond of waiting.splice(0)) respond()
  expect(await Promise.all(misses.slice(0, most))).toEqual(Array(most).fill(undefined))
  expect(await find(slugOf(most + 100), `line-${most + 100}`)).toBeUndefined()
})
