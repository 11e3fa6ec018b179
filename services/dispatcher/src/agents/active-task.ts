import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import type { IsFirstOfName } from '../conversations/first-of-name.ts'

/** A thread, of no channel where an assistant is tried. */
interface TaskThread {
  workspace: number
  channel: string | undefined
  thread: string
}

/** How configuration is told of a thread's tasks, in a query or a body. Rejects with `unavailable`. */
export async function scopeOf(
  isFirstOfName: IsFirstOfName,
  { workspace, channel, thread }: TaskThread,
): Promise<{ thread: string; channel?: string; isFirst?: boolean }> {
  if (channel === undefined) return { thread }
  return { thread, channel, isFirst: await isFirstOfName({ workspace, channel, thread }) }
}

/** The active task of a thread as configuration has it; undefined where it has none. Rejects with `unavailable`. */
export async function activeTask(
  needed: { configuration: Pick<InternalClient, 'get'>; isFirstOfName: IsFirstOfName },
  of: TaskThread,
): Promise<unknown> {
  const { thread, channel, isFirst } = await scopeOf(needed.isFirstOfName, of)
  const asked = new URLSearchParams({ thread, ...defined({ channel, isFirst: isFirst?.toString() }) })
  return needed.configuration.get(`/internal/workspaces/${of.workspace}/tasks?${asked}`)
}
