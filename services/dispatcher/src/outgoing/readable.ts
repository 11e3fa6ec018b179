import type { Authorizer } from '@parley/shared/authorizer'
import type { Replica } from '@parley/shared/config-replica/replica'
import { CHANNEL_NOTICE } from '@parley/shared/event-types'
import type { InternalClient } from '@parley/shared/internal-client'
import { callerSchema } from '@parley/shared/internal-token'
import { mapSecrets } from '@parley/shared/map-secrets'
import { parseJson } from '@parley/shared/parse-json'
import { MASK } from '@parley/shared/secret-names'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import type { Delivery } from '../message/delivery.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { nameIn, type ThreadRecord, threadId } from '../message/thread-record.ts'
import type { Subscription } from './subscriptions.ts'

const CACHED = 10_000
/** How late a change of a role or the end of an account is noticed. */
const FRESH_MS = 2_000

/**
 * Those of some deliveries that the subscription's account may read at the moment; none once the account, or its API
 * token, is gone. Rejects while identity is unavailable.
 */
export type Readable = (
  subscription: Pick<Subscription, 'workspace' | 'account' | 'token'>,
  deliveries: readonly Delivery[],
) => Promise<ReadonlySet<Delivery>>

export function createReadable(options: {
  identity: Pick<InternalClient, 'get'>
  authorizer: Authorizer
  messages: mongo.Collection<MessageRecord>
  threads: mongo.Collection<ThreadRecord>
  replica: Pick<Replica, 'find'>
}): Readable {
  const { identity, authorizer } = options
  const callers = new LRUCache<string, { caller: ReturnType<typeof callerSchema.parse> | undefined }>({
    max: CACHED,
    ttl: FRESH_MS,
    fetchMethod: async (path) => {
      const found = await identity.get(path)
      return { caller: found === undefined ? undefined : callerSchema.parse(found) }
    },
  })
  return async ({ workspace, account, token }, deliveries) => {
    const path = `/internal/callers/${account}${token === undefined ? '' : `?token=${token}`}`
    const caller = (await callers.fetch(path))?.caller
    if (caller === undefined || caller.workspace._id !== workspace) return new Set()
    const readable = new Set<Delivery>()
    for (const [resource, some] of Map.groupBy(deliveries, resourceOf)) {
      const decision = await authorizer.decide(caller, resource, 'read')
      if (decision.kind === 'all') for (const one of some) readable.add(one)
      if (decision.kind !== 'some') continue
      const stored = storedOf(options, resource)
      const channels = await channelsOf(options.replica, workspace, some)
      const isReadable =
        stored === undefined
          ? testOfEvent(decision.test, channels)
          : await testOfStored(stored, { workspace, some, filter: decision.filter })
      for (const one of some) if (isReadable(one)) readable.add(one)
    }
    return readable
  }
}

/** The stored record that rules look at, which is not in the event. */
interface Stored {
  collection: mongo.Collection<{ _id: string }>
  idOf(record: string, workspace: number): string
}

type Looked = Pick<Parameters<typeof createReadable>[0], 'messages' | 'threads'>

function storedOf({ messages, threads }: Looked, resource: string): Stored | undefined {
  if (resource === 'messages')
    return {
      collection: messages as unknown as Stored['collection'],
      idOf: (record) => record.slice('messages/'.length),
    }
  if (resource !== 'threads') return undefined
  return {
    collection: threads as unknown as Stored['collection'],
    idOf: (record, workspace) => {
      const name = nameIn(record.slice('threads/'.length))
      return name === undefined ? '' : threadId({ workspace, ...name })
    },
  }
}

/** By the documents in the events, or the channels of notices. One that is deleted, or too large for an event, can't be read. */
function testOfEvent(
  test: (document: object) => boolean,
  channels: ReadonlyMap<number, object>,
): (one: Delivery) => boolean {
  return (one) => {
    const document = isNotice(one) ? channels.get(channelIn(one)) : documentIn(one)
    return document !== undefined && test(document)
  }
}

const isNotice = ({ event }: Delivery): boolean => event === CHANNEL_NOTICE

const channelIn = ({ payload }: Delivery): number =>
  (parseJson(payload) as { data: { channel: { _id: number } } }).data.channel._id

/** The channels of notices as callers see them. */
async function channelsOf(
  replica: Pick<Replica, 'find'>,
  workspace: number,
  some: readonly Delivery[],
): Promise<Map<number, object>> {
  const ids = new Set(some.filter(isNotice).map(channelIn))
  const found = await Promise.all([...ids].map((id) => replica.find({ resource: 'channels', workspace, id })))
  return new Map(
    found
      .flat()
      .map(({ version: _version, ...channel }) => [channel._id, mapSecrets(channel, () => MASK) as object]),
  )
}

/** By the documents as they are now; those that are gone can't be read. */
async function testOfStored(
  { collection, idOf }: Stored,
  { workspace, some, filter }: { workspace: number; some: readonly Delivery[]; filter: mongo.BSON.Document },
): Promise<(one: Delivery) => boolean> {
  const ids = some.map(({ record }) => idOf(record, workspace))
  const visible = { $and: [{ _id: { $in: ids }, workspace }, filter] }
  const found = await collection.find(visible, { projection: { _id: 1 } }).toArray()
  const readable = new Set(found.map(({ _id }) => _id))
  return ({ record }) => readable.has(idOf(record, workspace))
}

const OF_RUNTIME: Readonly<Record<string, string>> = {
  channel: 'channels',
  message: 'messages',
  thread: 'threads',
  task: 'tasks',
  subscription: 'subscriptions',
  campaign: 'campaigns',
  template: 'templates',
  person: 'people',
}

/** Returns the resource by which a role decides about receivers of an event. */
export function resourceOf({ event }: Pick<Delivery, 'event'>): string {
  const [group = '', resource = ''] = event.split('.')
  return OF_RUNTIME[group] ?? resource
}

/** The document that rules look at, as it is in the event; undefined where the event does not have the whole of it. */
function documentIn({ payload }: Delivery): object | undefined {
  const { data } = parseJson(payload) as { data: Record<string, unknown> }
  const { document, task, campaign, template, person } = data
  return (document ?? task ?? campaign ?? template ?? person ?? undefined) as object | undefined
}
