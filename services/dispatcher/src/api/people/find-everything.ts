import { personAddresses } from '@parley/shared/consent'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { addressValues } from '../../message/addresses.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { ofThread, type ThreadRecord, threadIdRange } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'

const QUERY_MS = 2_000
const MAX_THREADS = 200
const MAX_NAMES = 64
const MAX_PEOPLE = 65

export const personQuery = z.object({
  addresses: personAddresses,
  /** The names of their own threads, which may be addresses that they left. */
  threads: z.array(z.string().max(1_024)).max(MAX_NAMES),
  /** The ids of the person, and of those who were joined to them. */
  people: z.array(z.string().max(64)).max(MAX_PEOPLE).optional(),
})

/** A person by all of their addresses, in a workspace. */
export type PersonNamed = z.output<typeof personQuery> & { workspace: number }

/** A thread that has something of a person; `isTheirs` where it has nothing of anybody else. */
interface FoundThread {
  thread: ThreadRecord
  isTheirs: boolean
}

/**
 * The threads that are with a person, and those that are called by one of their addresses; no groups. At most 200. Whoever
 * posts a message may name its thread, so that one thread may have several people.
 */
export async function threadsOfPerson(
  { threads, messages }: Pick<Collections, 'threads' | 'messages'>,
  { workspace, addresses, threads: own }: PersonNamed,
): Promise<FoundThread[]> {
  const names = new Set([...own, ...addressValues({ addresses })])
  const filters: mongo.Filter<ThreadRecord>[] = [
    { workspace, addresses: { $in: addresses } },
    ...[...names].map((extId) => ({ _id: threadIdRange({ workspace, extId }), workspace })),
  ]
  const all = new Map<string, ThreadRecord>()
  for (const filter of filters)
    for (const one of await threads.find(filter, { maxTimeMS: QUERY_MS }).limit(MAX_THREADS).toArray())
      all.set(one._id, one)
  const found = [...all.values()].slice(0, MAX_THREADS)
  return Promise.all(
    found.map(async (thread) => {
      if (names.has(thread.extId)) return { thread, isTheirs: true }
      const others = { ...messagesIn(thread), addresses: { $exists: true, $nin: addresses } }
      const other = await messages.findOne(others, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
      return { thread, isTheirs: other === null }
    }),
  )
}

/** The messages of a thread. */
export const messagesIn = ({
  workspace,
  channel,
  extId,
  joined,
}: ThreadRecord): mongo.Filter<MessageRecord> => ({
  ...{ workspace, channel, thread: ofThread({ extId, joined }) },
})

/** The messages that are from a person, or for them, whatever their thread is called. */
export const messagesOfPerson = ({ workspace, addresses }: Pick<PersonNamed, 'workspace' | 'addresses'>) => ({
  workspace,
  addresses: { $in: addresses },
})

/** Notices that name a person have their address as a text, without its kind. */
export function noticesOfPerson({ workspace, addresses }: PersonNamed) {
  const named = addressValues({ addresses }).map((value) =>
    JSON.stringify(value).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
  )
  return { workspace, value: { $regex: named.join('|') } }
}
