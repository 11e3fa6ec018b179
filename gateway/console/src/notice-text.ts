import { t } from './language.ts'
import type { DueNotice } from './notice-ledger.ts'
import type { NoticeSettings } from './notices.ts'
import { shownLast } from './threads.ts'

const LONGEST = 140

/** What is reported: how many messages of a conversation, or that it is assigned. */
export interface NoticedThread extends Pick<DueNotice, 'kind' | 'thread'> {
  count: number
}

export function noticeText({ kind, thread, count }: NoticedThread): string {
  const last = shownLast(thread.lastMessage).slice(0, LONGEST)
  if (kind === 'assignment') return t('Assigned to you. {last}', { last })
  return count === 1 ? last : t('{count} new messages. {last}', { count, last })
}

/** Whether an account is told of such a thing, by its settings. */
export function isRequested(
  { kind, thread, isHandOver }: Pick<DueNotice, 'kind' | 'thread' | 'isHandOver'>,
  { settings, own }: { settings: NoticeSettings; own: number | undefined },
): boolean {
  const { messages, handOvers, assignments, onlyOwn } = settings
  if (kind === 'assignment') return assignments
  const { assignee, unreadFor, lastUnreadAt } = thread
  const isOthers = assignee !== undefined && assignee._id !== own
  if (onlyOwn && isOthers) return false
  if (isHandOver && handOvers) return true
  // What is written after a hand-over is a message like any other.
  return messages && !(unreadFor?.why === 'handed_off' && unreadFor.at === lastUnreadAt)
}
