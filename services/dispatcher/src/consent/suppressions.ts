import { type consentStatus, PURPOSES, type Purpose } from '@parley/shared/consent'
import { group } from '@parley/shared/group'
import type { mongo } from 'mongoose'
import type { z } from 'zod'
import type { Collections } from '../store/collections.ts'
import type { SuppressionRecord } from '../store/suppression-records.ts'
import type { HashAddress } from './address-hash.ts'

const QUERY_MS = 1_000
const BATCH = 1_000
/** Longer than an instance writes behind what it knows. */
const ERASED_MS = 24 * 60 * 60 * 1_000
/** Nothing that was said before an agreement comes later than that. */
const ORDERED_MS = 30 * 24 * 60 * 60 * 1_000

/** The addresses of one person in a workspace. */
interface Addressed {
  workspace: number
  addresses: readonly string[]
}

/** Whose addresses are known, also those that they left. */
interface Known extends Addressed {
  left?: readonly string[] | undefined
}

export interface SuppressionChange extends Addressed {
  purpose: SuppressionRecord['purpose']
  status: z.output<typeof consentStatus>
  source: SuppressionRecord['source']
  at: Date
}

/** Which addresses are not written to, for what: the one place where that is decided. */
export interface Suppressions {
  /** Stores what was said, unless something later was. Rejects while the database is unavailable. */
  change(changes: readonly SuppressionChange[]): Promise<void>
  /** True if one of the addresses has opted out of one of the purposes. Rejects while the database is unavailable. */
  isOptedOut(of: Addressed & { purposes: readonly Purpose[] }): Promise<boolean>
  /** Returns the latest consent for each address. */
  find(
    of: Addressed,
  ): Promise<(Omit<SuppressionRecord, '_id' | 'workspace' | 'expiresAt'> & { address: string })[]>
  /** Applies the latest consent of one of a person's addresses, even of one that they left, to all known addresses. */
  spread(people: readonly Known[]): Promise<void>
  /** Notes for a day that a person is erased. */
  erase(of: Addressed, at: Date): Promise<void>
  /** Those of the people who were not erased since. */
  withoutErased<T extends Addressed & { at: string }>(people: readonly T[]): Promise<T[]>
}

export function createSuppressions(
  { suppressions }: Pick<Collections, 'suppressions'>,
  hashes: () => Promise<HashAddress>,
): Suppressions {
  const idsOf = async (
    { workspace, addresses }: Addressed,
    purposes: readonly SuppressionRecord['purpose'][],
  ) => {
    const hash = await hashes()
    return purposes.flatMap((purpose) =>
      addresses.map((address) => ({ address, _id: `${workspace}/${purpose}/${hash(workspace, address)}` })),
    )
  }
  const optedOut = group<string[], boolean>({
    work: async (asked) => {
      const found = await suppressions
        .find(
          { _id: { $in: asked.flat() }, status: 'withdrawn' },
          { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
        )
        .toArray()
      const all = new Set(found.map(({ _id }) => _id))
      return asked.map((ids) => ids.some((id) => all.has(id)))
    },
    atOnce: 2,
  })
  const read = (ids: string[]) => suppressions.find({ _id: { $in: ids } }, { maxTimeMS: QUERY_MS }).toArray()
  const change = async (changes: readonly SuppressionChange[]) => {
    const writes = await Promise.all(
      changes.map(async (one) => (await idsOf(one, [one.purpose])).map(({ _id }) => writeOf(_id, one))),
    )
    const all = writes.flat()
    for (let at = 0; at < all.length; at += BATCH)
      await suppressions.bulkWrite(all.slice(at, at + BATCH), { ordered: false })
  }
  return {
    change,
    async isOptedOut({ purposes, ...of }) {
      const ids = await idsOf(of, purposes)
      return ids.length > 0 && optedOut(ids.map(({ _id }) => _id))
    },
    async find(of) {
      const ids = await idsOf(of, PURPOSES)
      const found = new Map((await read(ids.map(({ _id }) => _id))).map((one) => [one._id, one]))
      return ids.flatMap(({ address, _id }) => {
        const one = found.get(_id)
        if (one === undefined) return []
        const { purpose, status, source, at } = one
        return { address, purpose, status, source, at }
      })
    },
    async erase(of, at) {
      await change([{ ...of, purpose: 'erased', status: 'withdrawn', source: 'api', at }])
    },
    async withoutErased(people) {
      const ids = await Promise.all(people.map((one) => idsOf(one, ['erased'])))
      const found = await read(ids.flat().map(({ _id }) => _id))
      const erasedAt = new Map(found.map(({ _id, at }) => [_id, at.getTime()]))
      const isErased = (at: string, own: (typeof ids)[number] = []) =>
        own.some(({ _id }) => (erasedAt.get(_id) ?? 0) >= Date.parse(at))
      return people.filter(({ at }, position) => !isErased(at, ids[position]))
    },
    async spread(people) {
      const all = people.map(({ left = [], ...of }) => ({ of, addresses: [...of.addresses, ...left] }))
      const several = all.filter(({ addresses }) => addresses.length > 1)
      const ids = await Promise.all(
        several.map(({ of: { workspace }, addresses }) => idsOf({ workspace, addresses }, PURPOSES)),
      )
      if (ids.length === 0) return
      const found = new Map((await read(ids.flat().map(({ _id }) => _id))).map((one) => [one._id, one]))
      const changes = several.flatMap(({ of }, at) => {
        const said = (ids[at] ?? []).flatMap(({ _id }) => found.get(_id) ?? [])
        return PURPOSES.flatMap((purpose) => {
          const [last] = said
            .filter((one) => one.purpose === purpose)
            .sort((one, other) => other.at.getTime() - one.at.getTime())
          return last === undefined
            ? []
            : { ...of, purpose, status: last.status, source: last.source, at: last.at }
        })
      })
      await change(changes)
    },
  }
}

/** An agreement that somebody else hands in is stored only where there is something that it takes back. */
function writeOf(
  _id: string,
  { workspace, purpose, status, source, at }: SuppressionChange,
): mongo.AnyBulkWriteOperation<SuppressionRecord> {
  const isOwn = source !== 'api' && source !== 'import'
  const record: SuppressionRecord = {
    ...{ _id, workspace, purpose, status, source, at },
    ...(status === 'granted' && { expiresAt: new Date(at.getTime() + ORDERED_MS) }),
    ...(purpose === 'erased' && { expiresAt: new Date(at.getTime() + ERASED_MS) }),
  }
  const isLater = { $lte: [{ $ifNull: ['$at', new Date(0)] }, at] }
  return {
    updateOne: {
      filter: { _id },
      update: [{ $replaceWith: { $cond: [isLater, { $literal: record }, '$$ROOT'] } }],
      upsert: status === 'withdrawn' || isOwn,
    },
  }
}
