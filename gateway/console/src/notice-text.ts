import { t } from './language.ts'
import type { DueNotice } from './notice-ledger.ts'
import type { NoticeSettings } from './notices.ts'
import { assignmentOf, shownLast, type Team } from './threads.ts'

const LONGEST = 140

/** The content of a notice: how many messages of a conversation, or that it is assigned. */
export interface NoticedThread extends Pick<DueNotice, 'kind' | 'thread'> {
  count: number
}

export function noticeText({ kind, thread, count }: NoticedThread): string {
  const last = shownLast(thread.lastMessage).slice(0, LONGEST)
  if (kind === 'assignment')
    return thread.assignee === undefined && thread.team
      ? t('Assigned to {name}. {last}', { name: thread.team.name, last })
      : t('Assigned to you. {last}', { last })
  return count === 1 ? last : t('{count} new messages. {last}', { count, last })
}

/** True if the settings of an account ask for such a notice. */
export function isRequested(
  { kind, thread, isHandOver }: Pick<DueNotice, 'kind' | 'thread' | 'isHandOver'>,
  {
    settings,
    own,
    teams = [],
  }: { settings: NoticeSettings; own: number | undefined; teams?: readonly Team[] },
): boolean {
  const { messages, handOvers, assignments, onlyOwn } = settings
  if (kind === 'assignment') return assignments
  if (onlyOwn && assignmentOf(thread, { own, teams })?.isOwn === false) return false
  if (isHandOver && handOvers) return true
  // A message that is written after a hand-over is like any other.
  const { unreadFor, lastUnreadAt } = thread
  return messages && !(unreadFor?.why === 'handed_off' && unreadFor.at === lastUnreadAt)
}
