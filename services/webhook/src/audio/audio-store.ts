import type { Readable } from 'node:stream'
import { insertNew } from '@parley/shared/insert-new'
import type { WebhookMessage } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import { withTimeout } from '@parley/shared/with-timeout'
import { type Connection, mongo } from 'mongoose'
import { z } from 'zod'

const BUCKET = 'audio'
const LARGE_BYTES = 128 * 1024
const CHUNK_BYTES = 1024 * 1024
const RETAINED_MS = 30 * 24 * 60 * 60 * 1_000
const READ_MS = 3_000
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)[;,]/

/** A message's reference to audio that is stored apart from it. */
export const audioReference = z.object({
  id: z.string(),
  bytes: z.number().int().describe('Of the text that came in as audio'),
  contentType: z.string().nullable().describe('As a data URL named it'),
})

type AudioReference = z.output<typeof audioReference>

interface StoredFile {
  _id: string
  length: number
  chunkSize: number
  uploadDate: Date
  expiresAt: Date
  metadata: { workspace: number }
}

interface StoredChunk {
  files_id: string
  n: number
  data: mongo.Binary
  expiresAt: Date
}

export interface AudioStore {
  /**
   * Stores audio under the message's id for 30 days, and returns the message with a reference in its place (`audio`
   * null, `audioRef`). Rejects with `unavailable` when it is not safe in time.
   */
  store(options: {
    message: WebhookMessage
    audio: string
    messageId: string
    workspace: number
    remainingMs: number
  }): Promise<WebhookMessage>
  /** The audio of a workspace's message, exactly as it came in; undefined when there is none. */
  open(workspace: number, id: string): Promise<{ bytes: number; content: Readable } | undefined>
  /** Erases the audio of a workspace's messages, where they have any. */
  erase(workspace: number, ids: string[]): Promise<void>
}

/** The audio of a message, when it has over 128 KiB: then it is to be stored apart from the message. */
export function largeAudioOf({ audio }: WebhookMessage): string | undefined {
  return typeof audio === 'string' && Buffer.byteLength(audio) > LARGE_BYTES ? audio : undefined
}

/** Large audio in GridFS, so that messages stay small. */
export function createAudioStore(connection: Connection): AudioStore {
  return {
    async store({ message, audio, messageId, workspace, remainingMs }) {
      const content = Buffer.from(audio)
      await withTimeout(remainingMs, write(connection, { id: messageId, workspace, content })).catch(
        (cause) => {
          throw new Problem('unavailable', { detail: 'The audio could not be stored in time.', cause })
        },
      )
      const contentType = DATA_URL.exec(audio)?.[1] ?? null
      const audioRef: AudioReference = { id: messageId, bytes: content.length, contentType }
      return { ...message, audio: null, audioRef }
    },
    async open(workspace, id) {
      const file = await withTimeout(READ_MS, filesOf(connection).findOne({ _id: id }))
      if (file === null || file.metadata.workspace !== workspace) return undefined
      const bucket = new mongo.GridFSBucket(connected(connection), { bucketName: BUCKET })
      // The driver's types know only ObjectIds; GridFS takes any.
      const content = bucket.openDownloadStream(id as unknown as mongo.ObjectId)
      return { bytes: file.length, content }
    },
    async erase(workspace, ids) {
      const found = await filesOf(connection)
        .find({ _id: { $in: ids }, 'metadata.workspace': workspace }, { projection: { _id: 1 } })
        .toArray()
      const own = found.map(({ _id }) => _id)
      await chunksOf(connection).deleteMany({ files_id: { $in: own } })
      await filesOf(connection).deleteMany({ _id: { $in: own } })
    },
  }
}

/** Chunks carry their own end of life, so that those of a write that broke off go as well. */
async function write(
  connection: Connection,
  { id, workspace, content }: { id: string; workspace: number; content: Buffer },
): Promise<void> {
  const expiresAt = new Date(Date.now() + RETAINED_MS)
  const chunks: StoredChunk[] = []
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    const data = new mongo.Binary(content.subarray(at, at + CHUNK_BYTES))
    chunks.push({ files_id: id, n: chunks.length, data, expiresAt })
  }
  // A repeat under the same id brings the same audio: what is there already is as good.
  await insertNew(chunksOf(connection), chunks)
  const file = {
    _id: id,
    length: content.length,
    chunkSize: CHUNK_BYTES,
    metadata: { workspace },
    uploadDate: new Date(),
    expiresAt,
  }
  await insertNew(filesOf(connection), [file])
}

const EXPIRING = { key: { expiresAt: 1 }, expireAfterSeconds: 0 } as const
/** The indexes of GridFS, and those that let old audio go. */
export const AUDIO_INDEXES: Record<string, mongo.IndexDescription[]> = {
  [`${BUCKET}.chunks`]: [{ key: { files_id: 1, n: 1 }, unique: true }, EXPIRING],
  [`${BUCKET}.files`]: [{ key: { filename: 1, uploadDate: 1 } }, EXPIRING],
}

function filesOf(connection: Connection): mongo.Collection<StoredFile> {
  return connected(connection).collection<StoredFile>(`${BUCKET}.files`)
}

function chunksOf(connection: Connection): mongo.Collection<StoredChunk> {
  return connected(connection).collection<StoredChunk>(`${BUCKET}.chunks`)
}

function connected({ db }: Connection): mongo.Db {
  if (db === undefined) throw new Problem('unavailable', { detail: 'The database is not reached yet.' })
  return db
}
