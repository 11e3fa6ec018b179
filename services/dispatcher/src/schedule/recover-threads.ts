import type { Log } from '@parley/shared/log'
import { dueOfClockAhead } from '../message/due.ts'
import { type MessageRecord, threadKey } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import type { Threads } from './threads.ts'

const PAGE = 500
const PAUSE_MS = 500

type Head = Pick<
  MessageRecord,
  '_id' | 'workspace' | 'thread' | 'lane' | 'order' | 'due' | 'waitingFor' | 'updatedAt'
> & { attempts: { at: Date }[] }

const WAITS = { due: 1, waitingFor: 1, updatedAt: 1, 'attempts.at': 1 }
const HEAD = { workspace: 1, thread: 1, lane: 1, order: 1, ...WAITS }

/**
 * Wakes every thread of a partition, or of one workspace in it, that has open messages, then calls `complete`. It
 * walks an index over (workspace, thread, lane, order) and jumps from thread to thread, so that one with 100,000 messages
 * costs one page; and from workspace to workspace, page by page by round robin, so that a large backlog does not delay
 * the others' recovery. Goes on, pausing, while the database is unavailable; ends when `active` says so.
 */
export async function recoverThreads(options: {
  messages: Collections['messages']
  partition: number
  workspace?: number | undefined
  threads: Pick<Threads, 'wake' | 'complete'>
  active(): boolean
  log: Log
}): Promise<void> {
  const { messages, partition, workspace, threads, active, log } = options
  const start = workspace === undefined ? {} : { workspace }
  let walks: Walk[] = [start]
  while (active()) {
    const [walk, ...others] = walks
    if (walk === undefined) return threads.complete(workspace)
    try {
      const page = await nextPage(messages, partition, walk)
      const last = wakeAll(page, threads, walk.last)
      walks = [...others, ...walksAfter(walk, page.length === PAGE ? last : undefined)]
    } catch (error) {
      log.warn(
        { partition, reason: error instanceof Error ? error.message : 'unknown' },
        'recovery goes on in a moment',
      )
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

/** The rest of a walk: one workspace, or all of them beyond one, and the last head that was read. */
interface Walk {
  workspace?: number
  beyond?: number
  last?: Head
}

/** The workspace that a page ended in has its own further pages; those beyond it come first. */
function walksAfter(walk: Walk, last: Head | undefined): Walk[] {
  if (last === undefined) return []
  const rest = { workspace: last.workspace, last }
  return walk.workspace === undefined ? [{ beyond: last.workspace }, rest] : [rest]
}

function nextPage(
  messages: Collections['messages'],
  partition: number,
  { workspace, beyond, last }: Walk,
): Promise<Head[]> {
  const among =
    workspace === undefined
      ? beyond === undefined
        ? {}
        : { workspace: { $gt: beyond } }
      : { workspace, ...(last === undefined ? {} : behind(last)) }
  return messages
    .find({ partition, open: true, ...among })
    .project<Head>(HEAD)
    .sort({ workspace: 1, thread: 1, lane: 1, order: 1 })
    .limit(PAGE)
    .toArray()
}

function behind({ thread, lane }: Head): object {
  return { $or: [{ thread: { $gt: thread } }, { thread, lane: { $gt: lane ?? '' } }] }
}

/** The first message of each thread, or of each lane in it, is its head. Returns the last head of the page. */
function wakeAll(page: Head[], threads: Pick<Threads, 'wake'>, last: Head | undefined): Head | undefined {
  for (const head of page) {
    if (last === undefined || threadKey(last) !== threadKey(head))
      threads.wake(head, wakeAt(head), head.waitingFor)
    last = head
  }
  return last
}

/** One that a clock ahead of ours has written is looked at at once: its run says until when it waits. */
function wakeAt(head: Head): number | undefined {
  return dueOfClockAhead(head, Date.now()) === undefined ? head.due?.getTime() : undefined
}
