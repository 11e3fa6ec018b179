import { randomUUIDv7 } from 'node:crypto'
import type { Caller } from '@parley/shared/internal-token'
import { safeInteger } from '@parley/shared/json-object'
import { cursorOf, encodeCursor, pageLimit, splitPage } from '@parley/shared/list-query'
import { type OperationParameter, pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { type NoteRecord, ofThread, type ThreadRecord } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { requireThread, type ThreadStore } from './find-thread.ts'
import { channelQuery } from './list-threads.ts'
import { threadErrors, threadParameter } from './thread-schemas.ts'

const tag = 'threads'
const QUERY_MS = 5_000
const MAX_TEXT = 16 * 1024
const MAX_BODY_BYTES = 128 * 1024
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

const example = {
  _id: '019338f2-5f64-7a51-9c39-2a4f6f0b1c11',
  at: '2026-11-20T11:36:37.316Z',
  by: { _id: 1, name: 'Ana Souza' },
  text: 'She calls back on Monday.',
}
const note = z
  .object({
    _id: z.string(),
    at: z.iso.datetime(),
    by: z.object({ _id: safeInteger, name: z.string() }).describe('Who wrote it'),
    text: z.string(),
  })
  .meta({ id: 'ThreadNote', description: 'What the team notes in a thread; it is never sent to anybody' })

const noteParameter: OperationParameter = {
  in: 'path',
  name: 'note',
  required: true,
  schema: z.string(),
  example: example._id,
  description: 'The `_id` of the note',
}

/** The dependencies of the routes of notes. */
export interface Notes extends ThreadStore {
  collections: ThreadStore['collections'] & Pick<Collections, 'notes'>
}

const path = '/rest/threads/{id}/notes'

export const listNotes = route({
  method: 'GET',
  path,
  access: 'read',
  id: 'listThreadNotes',
  tag,
  summary: 'List the notes of a thread',
  description: 'The latest first.',
  parameters: [threadParameter],
  query: z.object({ ...channelQuery.shape, limit: pageLimit, after: cursorOf(position).optional() }),
  response: pageOf('ThreadNote', note, example),
  errors: threadErrors,
  handle: (notes: Notes) => async (req, res, asked) => {
    const { channel, limit, after } = asked.query()
    const thread = await requireThread(notes, res, { id: req.params.id, channel, access: 'read' })
    const [at = 0, _id = ''] = after ?? []
    const before = new Date(at)
    const found = await notes.collections.notes
      .find(
        {
          ...notesIn(thread),
          ...(after && { $or: [{ at: { $lt: before } }, { at: before, _id: { $lt: _id } }] }),
        },
        { maxTimeMS: QUERY_MS },
      )
      .sort({ at: -1, _id: -1 })
      .limit(limit + 1)
      .toArray()
    const { page, last } = splitPage(found, limit)
    const next = last === undefined ? null : encodeCursor([last.at.getTime(), last._id])
    res.json({ data: page.map(noteView), next })
  },
})

export const postNote = route({
  method: 'POST',
  path,
  access: 'write',
  id: 'addThreadNote',
  tag,
  summary: 'Note something in a thread',
  description: 'For the team alone. It stays as long as a message of the thread, and goes with it.',
  parameters: [threadParameter],
  query: channelQuery,
  body: {
    schema: z.strictObject({ text: z.string().trim().min(1).max(MAX_TEXT) }).meta({ id: 'ThreadNoteBody' }),
    example: { text: example.text },
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: note, example },
  errors: threadErrors,
  handle: (notes: Notes) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(notes, res, { id: req.params.id, channel, access: 'write' })
    res.json(noteView(await addNote(notes, { thread, caller: callerOf(res), text: asked.body().text })))
  },
})

export const deleteNote = route({
  method: 'DELETE',
  path: `${path}/{note}`,
  access: 'write',
  id: 'deleteThreadNote',
  tag,
  summary: 'Delete a note of a thread',
  parameters: [threadParameter, noteParameter],
  query: channelQuery,
  response: {
    schema: z.object({ _id: z.string(), deleted: z.literal(true) }),
    example: { _id: example._id, deleted: true },
  },
  errors: threadErrors,
  handle: (notes: Notes) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(notes, res, { id: req.params.id, channel, access: 'write' })
    const { note: _id } = req.params
    const named = { ...notesIn(thread), _id }
    const { deletedCount } = await notes.collections.notes.deleteOne(named)
    if (deletedCount === 0) throw new Problem('not_found')
    await mark(notes, thread)
    res.json({ _id, deleted: true })
  },
})

/** The notes of a thread. */
export const notesIn = ({ workspace, channel, ...thread }: ThreadRecord) => ({
  workspace,
  channel,
  thread: ofThread(thread),
})

/** A note as callers see it. */
export const noteView = ({ _id, at, by, text }: Pick<NoteRecord, '_id' | 'at' | 'by' | 'text'>): object => ({
  ...{ _id, at, by, text },
})

/** Throws `not_found` where the thread was erased meanwhile, and leaves nothing of it then. */
async function addNote(
  notes: Notes,
  { thread, caller, text }: { thread: ThreadRecord; caller: Caller; text: string },
): Promise<NoteRecord> {
  const { workspace, channel, extId } = thread
  const { _id: account, name } = caller.account
  const at = new Date()
  const written = { _id: randomUUIDv7(), workspace, channel, thread: extId, at }
  const expiresAt = new Date(at.getTime() + notes.retentionMs)
  const note = { ...written, by: { _id: account, name }, text, expiresAt }
  await notes.collections.notes.insertOne(note)
  if (await mark(notes, thread)) return note
  await notes.collections.notes.deleteOne({ _id: note._id })
  throw new Problem('not_found')
}

/** Lets those who follow the thread know; false where it is gone. */
async function mark({ collections, retentionMs }: Notes, { _id, workspace }: ThreadRecord): Promise<boolean> {
  const now = Date.now()
  const marked = { $set: { notedAt: new Date(now) }, $max: { expiresAt: new Date(now + retentionMs) } }
  return (await collections.threads.updateOne({ _id, workspace }, marked)).matchedCount > 0
}
