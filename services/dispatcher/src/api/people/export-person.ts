import type { InternalClient } from '@parley/shared/internal-client'
import { z } from 'zod'
import type { Suppressions } from '../../consent/suppressions.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { noticeView } from '../../message/notice-record.ts'
import type { Collections } from '../../store/collections.ts'
import type { IsFirstOfName } from '../../thread-log/first-of-name.ts'
import { detailOf } from '../messages/view.ts'
import { tasksOfThread } from '../threads/erasers.ts'
import { notesIn, noteView } from '../threads/note-routes.ts'
import { threadSummary } from '../threads/view.ts'
import {
  messagesIn,
  messagesOfPerson,
  noticesOfPerson,
  type PersonNamed,
  personQuery,
  threadsOfPerson,
} from './find-everything.ts'

const QUERY_MS = 2_000
const PAGE = 100
const MAX_NOTICES = 100
const MAX_NOTES = 1_000

export const exportQuery = personQuery.extend({ after: z.string().max(128).optional() })

interface Exporting {
  collections: Pick<Collections, 'threads' | 'messages' | 'notices' | 'notes'>
  suppressions: Pick<Suppressions, 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
}

/**
 * A page of what there is of a person: 100 of their messages with all that was sent, in the order of their ids, and with the
 * first page all else. `next` is where the next page begins.
 */
export async function exportPerson(
  { collections, suppressions, configuration, isFirstOfName }: Exporting,
  { after, ...person }: PersonNamed & { after?: string | undefined },
): Promise<object> {
  const threads = await threadsOfPerson(collections, person)
  const ofThreads = threads.flatMap(({ thread, isTheirs }) => (isTheirs ? messagesIn(thread) : []))
  const messages = await collections.messages
    .find(
      {
        $and: [
          { $or: [messagesOfPerson(person), ...ofThreads] },
          after === undefined ? {} : { _id: { $gt: after } },
        ],
      },
      { maxTimeMS: QUERY_MS },
    )
    .sort({ _id: 1 })
    .limit(PAGE)
    .toArray()
  const next = messages.length < PAGE ? null : (messages.at(-1)?._id ?? null)
  const page = { messages: messages.map((one: MessageRecord) => detailOf(one)), next }
  if (after !== undefined) return page
  const tasks = await Promise.all(
    threads.map(({ thread }) => tasksOfThread({ configuration, isFirstOfName }, thread)),
  )
  const notices = await collections.notices
    .find(noticesOfPerson(person), { maxTimeMS: QUERY_MS })
    .limit(MAX_NOTICES)
    .toArray()
  const notedIn = threads.flatMap(({ thread, isTheirs }) => (isTheirs ? notesIn(thread) : []))
  const notes =
    notedIn.length === 0
      ? []
      : await collections.notes
          .find({ $or: notedIn }, { maxTimeMS: QUERY_MS })
          .sort({ at: -1, _id: -1 })
          .limit(MAX_NOTES)
          .toArray()
  return {
    ...page,
    threads: threads.map(({ thread }) => threadSummary(thread)),
    tasks: tasks.flatMap(({ found }) => found.flatMap(({ task }) => task ?? [])),
    suppressions: await suppressions.find(person),
    notices: notices.map(noticeView),
    notes: notes.map(({ channel, thread, ...note }) => ({ channel, thread, ...noteView(note) })),
  }
}
