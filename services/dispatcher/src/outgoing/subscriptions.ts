import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { every } from '@parley/shared/every'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { parseJson } from '@parley/shared/parse-json'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { shardOf } from '../message/delivery.ts'
import type { EventCollections } from '../store/event-collections.ts'

const GOOD: readonly Mark['state'][] = ['working', 'not_full']

const RELOAD_MS = 30_000
const RETRY_MS = 1_000
const MAX_SUBSCRIPTIONS = 100_000
const READ_MS = 10_000

/** A subscription that is turned on. */
export interface Subscription {
  /** As {@link Delivery.subscription}. */
  key: string
  shard: number
  workspace: number
  _id: number
  name: string
  url: string
  events: ReadonlySet<string>
  /** Of which channel alone. */
  channel?: number
  /** Sealed. */
  signingSecret: string
  /** The account that wrote it last, and the API token that was used. */
  account: number
  token?: number
  /** Events before this time (milliseconds since the epoch) are not for it. */
  activeSince: number
  isMarked: boolean
  /** True if configuration has it marked as full: too many events wait for it. */
  isMarkedFull: boolean
  /** Too many events wait for it: it gets no more. */
  isFull: boolean
}

/** The subscriptions that are turned on, in memory; the replicas in the database are behind them. */
export interface Subscriptions {
  /** Resolves once they have been read; never rejects. */
  ready: Promise<void>
  of(workspace: number): readonly Subscription[]
  all(): Iterable<Subscription>
  /** Reads those of a workspace again. */
  refresh(workspace: number): Promise<void>
  close(): Promise<void>
}

export function followSubscriptions(options: {
  replicas: mongo.Collection<DocumentReplica>
  subscribers: EventCollections['subscribers']
  /** Resolves when the database can be used. */
  database: Promise<unknown>
  log: Log
}): Subscriptions {
  const { replicas, subscribers, log } = options
  let byWorkspace = new Map<number, Subscription[]>()
  const loaded = Promise.withResolvers<void>()
  let pauseMs = RETRY_MS
  const read = async (filter: mongo.Filter<DocumentReplica>) => {
    const found = await replicas
      .find({ ...filter, document: { $exists: true } }, { maxTimeMS: READ_MS })
      .limit(MAX_SUBSCRIPTIONS)
      .toArray()
    const full = await subscribers.find({ full: true }, { projection: { _id: 1 } }).toArray()
    const fullOnes = new Set(full.map(({ _id }) => _id))
    return found.flatMap((replica) => subscriptionOf(replica, fullOnes) ?? [])
  }
  // One after another: what was read before must not take the place of what was read after it.
  let last: Promise<unknown> = Promise.resolve()
  const sequentially = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
  const reloading = every({
    pauseMs: () => pauseMs,
    run: async () => {
      await options.database
      await sequentially(async () => {
        const all = await read({ _id: { $gte: 'subscriptions/', $lt: 'subscriptions0' } })
        byWorkspace = Map.groupBy(all, ({ workspace }) => workspace)
      })
      pauseMs = RELOAD_MS
      loaded.resolve()
    },
    failed: ({ message: reason }) => log.warn({ reason }, 'subscriptions not read: MongoDB is unavailable'),
  })
  return {
    ready: loaded.promise,
    of: (workspace) => byWorkspace.get(workspace) ?? [],
    all: () => [...byWorkspace.values()].flat(),
    refresh: (workspace) =>
      sequentially(async () => {
        const now = await read({ workspace, resource: 'subscriptions' })
        if (now.length > 0) byWorkspace.set(workspace, now)
        else byWorkspace.delete(workspace)
      }),
    close: async () => {
      loaded.resolve()
      await reloading.stop()
    },
  }
}

const activeSubscription = z.object({
  _id: z.number(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  channel: z.number().nullish(),
  active: z.literal(true),
  signingSecret: z.string(),
  account: z.number(),
  token: z.number().optional(),
  createdAt: z.string(),
  activeSince: z.string(),
  failing: z.unknown().optional(),
  full: z.unknown().optional(),
})

function subscriptionOf(
  { workspace, document = 'null' }: DocumentReplica,
  full: ReadonlySet<string>,
): Subscription | undefined {
  const { data } = activeSubscription.safeParse(parseJson(document))
  if (data === undefined) return undefined
  const {
    channel,
    token,
    createdAt,
    activeSince,
    failing,
    full: fullMark,
    active: _active,
    events,
    ...rest
  } = data
  const key = subscriptionKey({ workspace, _id: data._id, createdAt })
  return {
    ...rest,
    key,
    shard: shardOf(key),
    workspace,
    events: new Set(events),
    ...(channel == null ? {} : { channel }),
    ...(token === undefined ? {} : { token }),
    activeSince: Date.parse(activeSince),
    isMarked: failing !== undefined,
    isMarkedFull: fullMark !== undefined,
    isFull: full.has(key),
  }
}

/** Returns the name by which deliveries refer to a subscription. */
export function subscriptionKey(of: { workspace: number; _id: number; createdAt: string }): string {
  return `${of.workspace}/${of._id}/${Date.parse(of.createdAt)}`
}

/** The mark of a subscription in configuration. */
export interface Mark {
  state: 'working' | 'failing' | 'disabled' | 'full' | 'not_full'
  [said: string]: string
}

/** Marks a subscription in configuration; false while that is unavailable. */
export type MarkSubscription = (
  subscription: Pick<Subscription, 'workspace' | '_id'>,
  mark: Mark,
) => Promise<boolean>

export function createMarkSubscription({
  configuration,
  log,
}: {
  configuration: Pick<InternalClient, 'post'>
  log: Log
}): MarkSubscription {
  return async ({ workspace, _id }, mark) => {
    const named = { workspace, subscription: _id, state: mark.state }
    try {
      await configuration.post(`/internal/workspaces/${workspace}/subscriptions/${_id}/mark`, mark)
      if (!GOOD.includes(mark.state)) log.warn(named, 'subscription marked')
      return true
    } catch (error) {
      log.warn({ ...named, reason: (error as Error).message }, 'subscription not marked yet')
      return false
    }
  }
}
