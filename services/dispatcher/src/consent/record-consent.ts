import type { PublishedConsent } from '@parley/shared/consent'
import { insertNew } from '@parley/shared/insert-new'
import type { Collections } from '../store/collections.ts'
import type { Suppressions } from './suppressions.ts'

const QUERY_MS = 2_000
const MAX_THREADS = 50
const MAX_ADDRESSES = 64
const GROUP = 'group:'

/** A person's change of consent, which others are told of under its id. */
export type ConsentEvent = Omit<PublishedConsent, 'at'> & { at: Date }

/** Stores changes of consent for all addresses of their persons. Once it has resolved, nothing else is claimed that they forbid. */
export type RecordConsent = (events: readonly ConsentEvent[]) => Promise<void>

/**
 * What is stored may be stored again. Who writes the history of consent is told behind it, however long that takes. Rejects
 * while the database is unavailable.
 */
export function createRecordConsent(options: {
  collections: Pick<Collections, 'threads' | 'unpublishedConsent'>
  suppressions: Pick<Suppressions, 'change'>
  /** Something is to be published. */
  stored(): void
}): RecordConsent {
  const { collections, suppressions, stored } = options
  return async (events) => {
    const known = await Promise.all(
      events.map(async (event) => {
        const { workspace, addresses } = event
        return { ...event, addresses: await addressesOfPerson(collections, { workspace, addresses }) }
      }),
    )
    const all = known.filter(({ addresses }) => addresses.length > 0)
    await suppressions.change(all)
    await insertNew(
      collections.unpublishedConsent,
      all.map(({ id: _id, ...event }) => ({ _id, ...event })),
    )
    if (all.length > 0) stored()
  }
}

/** The addresses of a person, by some of them: also those that their threads have. A group is nobody's. */
export async function addressesOfPerson(
  { threads }: Pick<Collections, 'threads'>,
  { workspace, addresses }: { workspace: number; addresses: readonly string[] },
): Promise<string[]> {
  const own = addresses.filter((one) => !one.startsWith(GROUP))
  if (own.length === 0) return []
  const found = await threads
    .find({ workspace, addresses: { $in: own } }, { projection: { addresses: 1 }, maxTimeMS: QUERY_MS })
    .limit(MAX_THREADS)
    .toArray()
  return [...new Set([...own, ...found.flatMap((thread) => thread.addresses ?? [])])]
    .filter((one) => !one.startsWith(GROUP))
    .slice(0, MAX_ADDRESSES)
}
