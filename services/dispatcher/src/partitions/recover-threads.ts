import type { Log } from '@parley/shared/log'
import type { Collections } from '../database.ts'
import { type MessageRecord, threadKey } from '../message-record.ts'
import type { Threads } from '../threads/threads.ts'

const PAGE = 500
const PAUSE_MS = 500

type Head = Pick<MessageRecord, 'workspace' | 'thread' | 'lane' | 'order' | 'due'>

/**
 * Wakes every thread of a partition that has open messages, then calls `complete`. It walks an index over
 * (workspace, thread, lane, order) and jumps from lane to lane, so that one with 100,000 messages costs one page.
 * Goes on, pausing, while the database is away; ends when `active` says so.
 */
export async function recoverThreads(options: {
  messages: Collections['messages']
  partition: number
  threads: Pick<Threads, 'wake' | 'complete'>
  active(): boolean
  log: Log
}): Promise<void> {
  const { messages, partition, threads, active, log } = options
  let last: Head | undefined
  while (active()) {
    try {
      const page = await nextPage(messages, partition, last)
      last = wakeAll(page, threads, last)
      if (page.length < PAGE) return threads.complete()
    } catch (error) {
      log.warn(
        { partition, reason: error instanceof Error ? error.message : 'unknown' },
        'recovery goes on in a moment',
      )
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

function nextPage(
  messages: Collections['messages'],
  partition: number,
  last: Head | undefined,
): Promise<Head[]> {
  const beyond =
    last === undefined
      ? {}
      : {
          $or: [
            { workspace: { $gt: last.workspace } },
            { workspace: last.workspace, thread: { $gt: last.thread } },
            { workspace: last.workspace, thread: last.thread, lane: { $gt: last.lane ?? '' } },
          ],
        }
  return messages
    .find({ partition, open: true, ...beyond })
    .project<Head>({ workspace: 1, thread: 1, lane: 1, order: 1, due: 1 })
    .sort({ workspace: 1, thread: 1, lane: 1, order: 1 })
    .limit(PAGE)
    .toArray()
}

/** The first message of each lane of a thread is its head. Returns the last head of the page. */
function wakeAll(page: Head[], threads: Pick<Threads, 'wake'>, last: Head | undefined): Head | undefined {
  for (const head of page) {
    if (last === undefined || threadKey(last) !== threadKey(head)) threads.wake(head, head.due?.getTime())
    last = head
  }
  return last
}
