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
  { kind, thread: { assignee, unreadFor } }: Pick<DueNotice, 'kind' | 'thread'>,
  { settings, own }: { settings: NoticeSettings; own: number | undefined },
): boolean {
  const { messages, handOvers, assignments, onlyOwn } = settings
  if (kind === 'assignment') return assignments
  const isOthers = assignee !== undefined && assignee._id !== own
  if (onlyOwn && isOthers) return false
  return unreadFor?.why === 'handed_off' ? handOvers : messages
}
