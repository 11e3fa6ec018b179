import type { InternalClient } from '@parley/shared/internal-client'
import { encodeCursor, splitPage } from '@parley/shared/list-query'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import { publicId } from '../../message/thread-record.ts'
import { changeThread, threadChange } from './change-thread.ts'
import { type Erasing, eraseThread } from './erase-thread.ts'
import { erasableTasks } from './erasers.ts'
import { requireThread, type ThreadStore, visibleThreads } from './find-thread.ts'
import { channelQuery, countThreads, findThreads, positionOf, threadQuery } from './list-threads.ts'
import { excerptsOf, type FoundMessage } from './search-threads.ts'
import { threadErrors, threadExample, threadPage, threadParameter, threadSchema } from './thread-schemas.ts'
import { readThread, threadViews } from './view.ts'

const tag = 'threads'
const MAX_BODY_BYTES = 512 * 1024

/** The dependencies of the routes of threads. */
export interface Threads extends ThreadStore, Erasing {
  identity: Pick<InternalClient, 'get'>
  channels: Pick<Channels, 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
  publisher: Pick<Publisher, 'publish'>
}

export const listThreads = route({
  method: 'GET',
  path: '/rest/threads',
  access: 'read',
  id: 'listThreads',
  tag,
  summary: 'List threads',
  description: 'The newest activity first; it is at most two seconds behind.',
  query: threadQuery,
  response: threadPage,
  handle:
    ({ collections, authorizer, channels }: Threads) =>
    async (_req, res, asked) => {
      const allowed = await visibleThreads(res, authorizer)
      const given = asked.query()
      const isCounted = given.total !== undefined && given.q === undefined
      const [found, total] = await Promise.all([
        findThreads(collections, allowed, given),
        isCounted ? countThreads(collections.threads, allowed, given) : undefined,
      ])
      const { page, last } = splitPage(found, given.limit)
      const excerpts = await excerptsOf(collections, { found: page, text: given.q ?? '' })
      const data = (await threadViews(channels, page)).map((view, at) => ({
        ...view,
        ...foundView(page[at]?.found, excerpts),
      }))
      const next = last === undefined ? null : encodeCursor(positionOf(last))
      res.json({ data, next, ...(total && { total }) })
    },
})

/** Nothing of a message that went in the meantime. */
function foundView(found: FoundMessage | undefined, excerpts: ReadonlyMap<string, string>): object {
  const text = found && excerpts.get(found.message)
  return text === undefined ? {} : { found: { ...found, text } }
}

export const readOneThread = route({
  method: 'GET',
  path: '/rest/threads/{id}',
  access: 'read',
  id: 'readThread',
  tag,
  summary: 'Read a thread',
  parameters: [threadParameter],
  query: channelQuery,
  response: { schema: threadSchema, example: { ...threadExample, task: null } },
  errors: threadErrors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'read' })
    res.json(await readThread(threads, { thread, caller: callerOf(res) }))
  },
})

export const patchThread = route({
  method: 'PATCH',
  path: '/rest/threads/{id}',
  access: 'write',
  id: 'changeThread',
  tag,
  summary: 'Take a thread over, give it back, assign, label, resolve or snooze it',
  description:
    'Once a person has it, nothing of an assistant or a handler leaves any more. One that is resolved or snoozed is open again when the person writes.',
  parameters: [threadParameter],
  query: channelQuery,
  body: {
    schema: threadChange.meta({ id: 'ThreadChange' }),
    example: { handler: 'person', unread: 0 },
    types: ['application/json', 'application/merge-patch+json'],
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: threadSchema, example: { ...threadExample, task: null } },
  errors: threadErrors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'write' })
    const caller = callerOf(res)
    const change = asked.body()
    const changed = await changeThread(threads, { thread, change, caller })
    res.set('x-internal-act', actIn(change))
    res.json(await readThread(threads, { thread: changed, caller }))
  },
})

/** Returns the act that the gateway reports to the audit log: reading a thread is no act. */
function actIn({ handler, unread, ...change }: z.output<typeof threadChange>): string {
  if (handler !== undefined) return handler === 'person' ? 'take-over' : 'give-back'
  return unread !== undefined && Object.values(change).every((value) => value === undefined)
    ? 'none'
    : 'update'
}

export const deleteThread = route({
  method: 'DELETE',
  path: '/rest/threads/{id}',
  access: 'write',
  id: 'eraseThread',
  tag,
  summary: 'Erase a thread',
  description:
    'What a person said and was told, and the context of the tasks of the thread on its channel, for good. Tasks that the caller may not write are left out and counted. The log of the broker has it for 7 days more.',
  parameters: [threadParameter],
  query: channelQuery,
  response: {
    schema: z.object({
      _id: z.string(),
      deleted: z.literal(true),
      tasksLeft: z
        .number()
        .int()
        .optional()
        .describe('How many tasks of the thread the caller may not write, and so were left as they are'),
    }),
    example: { _id: threadExample._id, deleted: true },
  },
  errors: threadErrors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'write' })
    const tasks = await erasableTasks(threads, { caller: callerOf(res), thread })
    await eraseThread(threads, thread, tasks)
    const { left: tasksLeft } = tasks
    res.json({ _id: publicId(thread), deleted: true, ...(tasksLeft > 0 && { tasksLeft }) })
  },
})
