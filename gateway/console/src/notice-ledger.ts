import type { Thread } from './threads.ts'

type NoticeKind = 'message' | 'assignment'

/** What somebody is to be told of in a conversation. */
export interface News {
  kind: NoticeKind
  thread: Thread
  /** When the message was received, or the conversation assigned. */
  at: string
}

/** That something was told, as the tabs of a browser say it to each other. */
export interface Told {
  told: string
  kind: NoticeKind
  at: string
  /** Of the conversation then. */
  unread: number
}

/** What the account was told of, and what it is still to be told of. */
export interface NoticeLedger {
  /** Takes in a state of a conversation, in whatever order they come. Returns what is new in it. */
  hear(thread: Thread): News[]
  /** The same for the list of what is unread, which has what the stream did not say. What the first one has was there before. */
  read(list: { data: readonly Thread[]; next: string | null }): News[]
  /**
   * That something is told by whoever calls, and how many messages that is since the last time; undefined where it was
   * told meanwhile, or read, or there is something later.
   */
  take(news: News): { told: Told; count: number } | undefined
  /** That something was told by another tab. */
  settle(told: Told): void
  /** What is not told yet. */
  waiting(): News[]
}

/** What happened longer ago is no news. */
const RECENT_MS = 5 * 60_000
const MOST_KNOWN = 2_000

interface Known {
  /** What came until then was told, or read. */
  toldAt: Record<NoticeKind, string>
  /** How many were unread then, where that is known. */
  unread: number | undefined
  waiting: Map<NoticeKind, News>
}

/**
 * A conversation's state is judged by when its last unread message was received, which only grows: states that come twice,
 * late, or several in one make one piece of news each.
 */
export function createNoticeLedger({
  own,
  now = Date.now,
}: {
  /** The `_id` of the account. */
  own(): number | undefined
  now?: () => number
}): NoticeLedger {
  const all = new Map<string, Known>()
  /** What unread conversations that are not known have after this place is new; `isWhole`: there are no such. */
  let before: { until: string; isWhole: boolean } | undefined
  const isRecent = (at: string) => now() - Date.parse(at) < RECENT_MS
  const remember = (id: string, known: Known): Known => {
    all.delete(id)
    all.set(id, known)
    // Those of which nothing was said for long.
    for (const [oldest] of all) if (all.size > MOST_KNOWN) all.delete(oldest)
    return known
  }
  const knownOf = (id: string): Known =>
    remember(
      id,
      all.get(id) ?? {
        toldAt: { message: before?.until ?? '', assignment: '' },
        unread: before?.isWhole ? 0 : undefined,
        waiting: new Map(),
      },
    )
  const add = (known: Known, news: News): News[] => {
    if (news.at <= known.toldAt[news.kind] || !isRecent(news.at)) return []
    const earlier = known.waiting.get(news.kind)
    if (earlier !== undefined && earlier.at >= news.at) return []
    known.waiting.set(news.kind, news)
    return [news]
  }
  const hearMessages = (known: Known, thread: Thread): News[] => {
    const { unread, lastUnreadAt: at = '' } = thread
    const latest = known.waiting.get('message')?.at ?? known.toldAt.message
    if (at < latest) return []
    if (unread === 0) settleAt(known, { kind: 'message', at, unread })
    else if (at === known.toldAt.message) known.unread = unread
    return unread === 0 ? [] : add(known, { kind: 'message', thread, at })
  }
  const hearAssignment = (known: Known, thread: Thread): News[] => {
    const { assignee } = thread
    if (assignee === undefined) return []
    const { _id, by, at } = assignee
    if (_id === own() && by !== _id) return add(known, { kind: 'assignment', thread, at })
    const earlier = known.waiting.get('assignment')
    if (earlier !== undefined && at > earlier.at) known.waiting.delete('assignment')
    return []
  }
  const hear = (thread: Thread): News[] => {
    const known = knownOf(thread._id)
    return [...hearAssignment(known, thread), ...hearMessages(known, thread)]
  }
  return {
    hear,
    read({ data, next }) {
      if (before !== undefined) return data.flatMap(hear)
      before = { until: next === null ? '' : (data.at(-1)?.lastAt ?? ''), isWhole: next === null }
      for (const { _id, unread, lastUnreadAt = '', assignee } of data) {
        const toldAt = { message: lastUnreadAt, assignment: assignee?.at ?? '' }
        if (!all.has(_id)) remember(_id, { toldAt, unread, waiting: new Map() })
      }
      return []
    },
    take({ kind, thread, at }) {
      const known = all.get(thread._id)
      if (known?.waiting.get(kind)?.at !== at) return undefined
      const { _id, unread } = thread
      const count = known.unread === undefined ? 1 : Math.max(1, unread - known.unread)
      const told = { told: _id, kind, at, unread }
      settleAt(known, told)
      return { told, count }
    },
    settle: (told) => settleAt(knownOf(told.told), told),
    waiting: () =>
      [...all.values()].flatMap(({ waiting }) => [...waiting.values()].filter(({ at }) => isRecent(at))),
  }
}

function settleAt(known: Known, { kind, at, unread }: Pick<Told, 'kind' | 'at' | 'unread'>): void {
  if (at < known.toldAt[kind]) return
  known.toldAt[kind] = at
  if (kind === 'message') known.unread = unread
  const left = known.waiting.get(kind)
  if (left !== undefined && left.at <= at) known.waiting.delete(kind)
}
