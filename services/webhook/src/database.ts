import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { prepareCollections } from '@parley/shared/prepare-collections'
import type { Connection, mongo } from 'mongoose'
import { AUDIO_INDEXES } from './audio/audio-store.ts'
import type { PersonRecord } from './people/person.ts'

/** The last events at a channel's webhook. */
export interface HookNotes {
  /** `<workspace>/<channel id>` */
  _id: string
  workspace: number
  channel: number
  /** When the provider last confirmed the address with the right verify token. */
  handshakeAt?: Date
  /** When something rightly signed last came. */
  receivedAt?: Date
  /** The code is one of the provider's `errors`, or `updates_skipped`. */
  lastError?: { at: Date; code: string }
}

/** A workspace as it is stored; its slug is its own for good. */
interface KnownWorkspace {
  /** The slug. */
  _id: string
  workspace: number
}

export interface Collections {
  channels: mongo.Collection<DocumentReplica>
  workspaces: mongo.Collection<KnownWorkspace>
  hooks: mongo.Collection<HookNotes>
  people: mongo.Collection<PersonRecord>
}

/** The webhook service's collections, on the native driver. */
export function collectionsOf(connection: Connection): Collections {
  const named = (name: string): unknown => connection.collection(name)
  return {
    channels: named('channels') as Collections['channels'],
    workspaces: named('workspaces') as Collections['workspaces'],
    hooks: named('hooks') as Collections['hooks'],
    people: named('people') as Collections['people'],
  }
}

const EXPIRING = { key: { expiresAt: 1 }, expireAfterSeconds: 0 } as const

/** Makes the collections and indexes that are missing. */
export const prepareDatabase = (connection: Connection): Promise<void> =>
  prepareCollections(connection, {
    channels: [
      { key: { workspace: 1, extIdHash: 1 } },
      {
        key: { workspace: 1, receiverHashes: 1 },
        partialFilterExpression: { receiverHashes: { $exists: true } },
      },
      EXPIRING,
    ],
    workspaces: [],
    hooks: [],
    people: [
      { key: { workspace: 1, addresses: 1 }, unique: true },
      { key: { workspace: 1, threads: 1 }, unique: true },
      EXPIRING,
    ],
    ...AUDIO_INDEXES,
  })
