import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import { cursorOf, encodeCursor } from '@parley/shared/list-query'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Suppressions } from '../../consent/suppressions.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { noticeView } from '../../message/notice-record.ts'
import type { Collections } from '../../store/collections.ts'
import { detailOf } from '../messages/view.ts'
import { tasksOfThread } from '../threads/erasers.ts'
import { notesIn, noteView } from '../threads/note-routes.ts'
import { threadSummary } from '../threads/view.ts'
import {
  messagesIn,
  messagesOfPerson,
  noticesOfPerson,
  personQuery,
  threadsOfPerson,
} from './find-everything.ts'

const QUERY_MS = 2_000
const PAGE = 100
const MAX_ID = 128
/** Those of the workspace are looked through. */
const NOTICES_INDEX = { workspace: 1, channelId: 1, receivedAt: -1, _id: -1 } as const

const position = z.string().max(MAX_ID).nullable()
/** Behind which messages, notices and notes the page begins; null for those that are over. */
export const exportQuery = personQuery.extend({
  after: cursorOf(z.tuple([position, position, position])).optional(),
})

interface Exporting {
  collections: Pick<Collections, 'threads' | 'messages' | 'notices' | 'notes'>
  suppressions: Pick<Suppressions, 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
}

/**
 * A page of what there is of a person: 100 of their messages with all that was sent, 100 notices and 100 notes, in the order of
 * their ids, and with the first page all else. `next` is where the next page begins.
 */
export async function exportPerson(
  { collections, suppressions, configuration, isFirstOfName }: Exporting,
  { after, ...person }: z.output<typeof exportQuery> & { workspace: number },
): Promise<object> {
  const threads = await threadsOfPerson(collections, person)
  const own = threads.flatMap(({ thread, isTheirs }) => (isTheirs ? thread : []))
  const [afterMessage = '', afterNotice = '', afterNote = ''] = after ?? []
  const [messages, notices, notes] = await Promise.all([
    pageOf(collections.messages, [messagesOfPerson(person), ...own.map(messagesIn)], afterMessage),
    pageOf(collections.notices, [noticesOfPerson(person)], afterNotice, NOTICES_INDEX),
    pageOf(collections.notes, own.map(notesIn), afterNote),
  ])
  const positions = [messages.next, notices.next, notes.next]
  const page = {
    messages: messages.data.map((one: MessageRecord) => detailOf(one)),
    notices: notices.data.map(noticeView),
    notes: notes.data.map(({ channel, thread, ...note }) => ({ channel, thread, ...noteView(note) })),
    next: positions.every((one) => one === null) ? null : encodeCursor(positions),
  }
  if (after !== undefined) return page
  const tasks = await Promise.all(
    threads.map(({ thread }) => tasksOfThread({ configuration, isFirstOfName }, thread)),
  )
  return {
    ...page,
    threads: threads.map(({ thread }) => threadSummary(thread)),
    tasks: tasks.flatMap(({ found }) => found.flatMap(({ task }) => task ?? [])),
    suppressions: await suppressions.find(person),
  }
}

/** Those of any of the filters behind an id, and where the next page begins; nothing where they are over. */
async function pageOf<T extends { _id: string }>(
  collection: mongo.Collection<T>,
  filters: mongo.Filter<T>[],
  after: string | null,
  hint?: mongo.Hint,
): Promise<{ data: mongo.WithId<T>[]; next: string | null }> {
  if (after === null || filters.length === 0) return { data: [], next: null }
  const behind = after === '' ? {} : { _id: { $gt: after } }
  const data = await collection
    .find({ $and: [{ $or: filters }, behind] } as mongo.Filter<T>, {
      maxTimeMS: QUERY_MS,
      ...defined({ hint }),
    })
    .sort({ _id: 1 })
    .limit(PAGE)
    .toArray()
  return { data, next: data.length < PAGE ? null : (data.at(-1)?._id ?? null) }
}
