import { assignmentOf, type Team, type Thread } from './threads.ts'

type NoticeKind = 'message' | 'assignment'

/** An event of a conversation that the user is to be notified of. */
export interface DueNotice {
  kind: NoticeKind
  thread: Thread
  /** When the message was received, or the conversation assigned. */
  at: string
  /** That it was handed over was not told yet. */
  isHandOver?: boolean
}

/** That something was told, as the tabs of a browser say it to each other. */
export interface Reported {
  reported: string
  kind: NoticeKind
  at: string
  /** Of the conversation then. */
  unread: number
}

/** The notices that the tab that told for all of them knows when it goes, for the tab whose first list has the same. */
export interface LeftNotices {
  /** All that was told of what came later is in `reported`. */
  since: string
  /** Without how many were unread where that is not known. */
  reported: (Omit<Reported, 'unread'> & { unread?: number | undefined })[]
  /** The conversations of which something is not told. */
  waiting: string[]
}

/** The record of the notices that the account was given, and of those that it is still to be given. */
export interface NoticeLedger {
  /** Takes in a state of a conversation, in whatever order they come. Returns what is new in it. */
  hear(thread: Thread): DueNotice[]
  /** The same for the list of what is unread, which has what the stream did not say. What the first one has was there before. */
  read(list: { data: readonly Thread[]; next: string | null }): DueNotice[]
  /**
   * That something is told by whoever calls, how many messages that is since the last time, and the latest state; undefined where it was
   * told meanwhile, or read, or there is something later.
   */
  take(due: DueNotice): { due: DueNotice; reported: Reported; count: number } | undefined
  /** That something was told by another tab. */
  settle(reported: Reported): void
  /** The notices that are not told yet. */
  waiting(): DueNotice[]
  /** Returns the notices of the last minute, which it leaves to the tab that tells next. */
  leave(): LeftNotices
  /**
   * What the tab that told before has left, once there was a list. Returns the conversations whose state is to be heard
   * again: the list has settled what nobody has told.
   */
  resume(left: LeftNotices): string[]
}

/** Age in milliseconds beyond which an event is no longer reported. */
const RECENT_MS = 5 * 60_000
const MOST_KNOWN = 5_000
/** Longer than tabs take to be loaded anew one after another. */
const LEFT_MS = 60_000
const MOST_LEFT = 1_000
/** So many are asked for again. */
const MOST_RESUMED = 100

interface Known {
  /** For each kind, the time until which everything was told or read. */
  reportedAt: Record<NoticeKind, string>
  /** How many were unread then, where that is known. */
  unread: number | undefined
  waiting: Map<NoticeKind, DueNotice>
  /** The first list had it: that it was told is assumed. */
  isAssumed: boolean
}

const KINDS = ['message', 'assignment'] as const

/**
 * A conversation's state is judged by when its last unread message was received, which only grows: states that come twice,
 * late, or several in one make one piece of news each.
 */
export function createNoticeLedger({
  own,
  teams = () => [],
  now = Date.now,
  mostKnown = MOST_KNOWN,
}: {
  /** The `_id` of the account. */
  own(): number | undefined
  /** Those that it may read. */
  teams?: () => readonly Team[]
  now?: () => number
  /** Of so many conversations it knows what was said. */
  mostKnown?: number
}): NoticeLedger {
  const all = new Map<string, Known>()
  /** Messages after this place are new in unread conversations that are not known; `isWhole`: there are no such. */
  let before: { until: string; isWhole: boolean } | undefined
  const isRecent = (at: string) => now() - Date.parse(at) < RECENT_MS
  /** That of which nothing was said for longest; what it was reported to have is old from now on. */
  const forgetOldest = () => {
    const [oldest] = all
    if (oldest === undefined) return
    const [id, { reportedAt }] = oldest
    all.delete(id)
    before = { until: later(before?.until ?? '', reportedAt.message), isWhole: false }
  }
  const remember = (id: string, known: Known): Known => {
    all.delete(id)
    all.set(id, known)
    if (all.size > mostKnown) forgetOldest()
    return known
  }
  const knownOf = (id: string): Known =>
    remember(
      id,
      all.get(id) ?? {
        reportedAt: { message: before?.until ?? '', assignment: '' },
        unread: before?.isWhole ? 0 : undefined,
        waiting: new Map(),
        isAssumed: before !== undefined && !before.isWhole,
      },
    )
  const add = (known: Known, due: DueNotice): DueNotice[] => {
    if (due.at <= known.reportedAt[due.kind] || !isRecent(due.at)) return []
    const earlier = known.waiting.get(due.kind)
    if (earlier !== undefined && earlier.at > due.at) return []
    known.waiting.set(due.kind, due)
    return earlier?.at === due.at ? [] : [due]
  }
  const hearMessages = (known: Known, thread: Thread): DueNotice[] => {
    const { unread, lastUnreadAt: at = '', lastAt, unreadFor } = thread
    // It is counted already, but its text comes with the next state.
    if (unread > 0 && at > lastAt) return []
    const latest = known.waiting.get('message')?.at ?? known.reportedAt.message
    if (at < latest) return []
    if (unread === 0) settleAt(known, { kind: 'message', at, unread })
    else if (at === known.reportedAt.message) known.unread = unread
    if (unread === 0) return []
    const isHandOver = unreadFor?.why === 'handed_off' && unreadFor.at > known.reportedAt.message
    return add(known, { kind: 'message', thread, at, isHandOver })
  }
  const hearAssignment = (known: Known, thread: Thread): DueNotice[] => {
    const assigned = assignmentOf(thread, { own: own(), teams: teams() })
    if (assigned === undefined) return []
    const { isOwn, by, at } = assigned
    if (isOwn && by !== own()) return add(known, { kind: 'assignment', thread, at })
    const earlier = known.waiting.get('assignment')
    if (earlier !== undefined && at > earlier.at) known.waiting.delete('assignment')
    return []
  }
  const hear = (thread: Thread): DueNotice[] => {
    const known = knownOf(thread._id)
    return [...hearAssignment(known, thread), ...hearMessages(known, thread)]
  }
  const waiting = () =>
    [...all.values()].flatMap(({ waiting }) => [...waiting.values()].filter(({ at }) => isRecent(at)))
  return {
    hear,
    read({ data, next }) {
      if (before !== undefined) return data.flatMap(hear)
      // Messages from before the latest of it were another tab's to report, though their threads may be written later.
      const latest = data.map(({ lastUnreadAt = '' }) => lastUnreadAt).reduce(later, '')
      for (const { _id, unread, lastUnreadAt = '', assignee, team } of data) {
        const known = knownOf(_id)
        settleAt(known, { kind: 'message', at: lastUnreadAt, unread })
        settleAt(known, { kind: 'assignment', at: later(assignee?.at ?? '', team?.at ?? ''), unread })
        known.isAssumed = true
      }
      // The same of what was heard meanwhile: it may have been reported before this tab was there.
      for (const known of all.values()) {
        const due = known.waiting.get('message')
        if (due === undefined || due.at > latest) continue
        settleAt(known, { kind: 'message', at: due.at, unread: due.thread.unread })
        known.isAssumed = true
      }
      before = { until: next === null ? '' : latest, isWhole: next === null }
      return []
    },
    take({ kind, thread: { _id }, at }) {
      const known = all.get(_id)
      const due = known?.waiting.get(kind)
      if (known === undefined || due?.at !== at) return undefined
      // Several may have been received in one millisecond.
      const { unread } = due.thread
      const count = known.unread === undefined ? 1 : Math.max(1, unread - known.unread)
      const reported = { reported: _id, kind, at, unread }
      settleAt(known, reported)
      return { due, reported, count }
    },
    settle: (reported) => settleAt(knownOf(reported.reported), reported),
    waiting,
    leave() {
      const known = [...all].flatMap(([reported, { reportedAt, unread, waiting }]) =>
        KINDS.map((kind) => ({ reported, kind, at: reportedAt[kind], unread, isDue: waiting.has(kind) })),
      )
      const latest = known.map(({ at }) => at).reduce(later, '')
      const since = latest === '' ? '' : new Date(Date.parse(latest) - LEFT_MS).toISOString()
      const reported = known
        .filter(({ at, isDue }) => at > since || (isDue && at !== ''))
        .toSorted((one, other) => (one.at < other.at ? 1 : -1))
        .map(({ isDue, ...one }) => one)
      return {
        since: later(reported[MOST_LEFT]?.at ?? '', since),
        reported: reported.slice(0, MOST_LEFT),
        waiting: waiting().map(({ thread: { _id } }) => _id),
      }
    },
    resume({ since, reported, waiting }) {
      const leftOf = new Map(reported.map((one) => [`${one.kind} ${one.reported}`, one]))
      const again = new Set<string>()
      if (before !== undefined && !before.isWhole && before.until > since) before.until = since
      for (const id of waiting) knownOf(id)
      for (const [id, known] of all) {
        if (!known.isAssumed) continue
        for (const kind of KINDS) {
          const one = leftOf.get(`${kind} ${id}`)
          const at = one?.at ?? since
          if (known.reportedAt[kind] <= at) continue
          known.reportedAt[kind] = at
          if (kind === 'message') known.unread = one?.unread
          again.add(id)
        }
      }
      return [...new Set([...waiting, ...again])].slice(-MOST_RESUMED)
    },
  }
}

const later = (one: string, other: string): string => (one > other ? one : other)

function settleAt(known: Known, { kind, at, unread }: Pick<Reported, 'kind' | 'at' | 'unread'>): void {
  if (at < known.reportedAt[kind]) return
  known.reportedAt[kind] = at
  known.isAssumed = false
  if (kind === 'message') known.unread = unread
  const left = known.waiting.get(kind)
  if (left !== undefined && left.at <= at) known.waiting.delete(kind)
}
