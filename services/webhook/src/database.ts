import type { Connection, mongo } from 'mongoose'
import { prepareAudio } from './audio/audio-store.ts'
import type { ChannelCopy } from './channels/channel-copy.ts'
import type { HookNotes } from './hooks/hook-notes.ts'
import type { KnownWorkspace } from './workspaces.ts'

export interface Collections {
  channels: mongo.Collection<ChannelCopy>
  workspaces: mongo.Collection<KnownWorkspace>
  hooks: mongo.Collection<HookNotes>
}

/** The webhook service's collections, on the native driver. */
export function collectionsOf(connection: Connection): Collections {
  const named = (name: string): unknown => connection.collection(name)
  return {
    channels: named('channels') as Collections['channels'],
    workspaces: named('workspaces') as Collections['workspaces'],
    hooks: named('hooks') as Collections['hooks'],
  }
}

const EXISTS = 48

/** Makes the collections, which first writes that come together would get in each other's way over, and indexes. */
export async function prepareDatabase(connection: Connection): Promise<void> {
  for (const name of ['channels', 'workspaces', 'hooks']) {
    await connection.db?.createCollection(name).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== EXISTS) throw error
    })
  }
  const { channels } = collectionsOf(connection)
  await channels.createIndexes([
    { key: { workspace: 1, extIdHash: 1 } },
    { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ])
  await prepareAudio(connection)
}
