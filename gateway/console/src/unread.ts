import { useEffect } from 'preact/hooks'
import { call, type Page } from './api.ts'
import { t } from './language.ts'
import { useLoad } from './load.ts'
import { raiseNotice, readNoticeSettings } from './notices.ts'
import { may, me } from './rights.ts'
import { leaveTo } from './router.ts'
import { account } from './session.ts'
import { isReader, onLive } from './shared-stream.ts'
import { nameOf, shownLast, type Thread } from './threads.ts'
import { setUnreadInTitle } from './title.ts'

const MOST_COUNTED = 100
const LONGEST = 140
/** What happened longer ago is no news: the stream may bring again what it brought before. */
const RECENT_MS = 5 * 60_000
/** So long a tab that shows the conversation has to say so. */
const RESPONSE_MS = 250

/** How many conversations are unread, in words, empty for none: in the title and the icon of the tab, too. */
export function useUnread(): string {
  const mayRead = may('read', 'threads')
  const { data } = useLoad(
    `unread ${mayRead}`,
    async (signal) => {
      if (!mayRead) return undefined
      const query = { unread: 'true', limit: MOST_COUNTED }
      return call<Page<Thread>>('GET', '/rest/threads', { query, signal })
    },
    { everyMs: 30_000, isInBackground: true, atMostMs: 3_000, live: ({ event }) => event === 'thread' },
  )
  const count = data === undefined ? 0 : data.data.length
  const text = count === 0 ? '' : `${count}${data?.next ? '+' : ''}`
  useEffect(() => {
    setUnreadInTitle(text)
    const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
    const { plain = icon?.getAttribute('href') ?? '', unread = plain } = icon?.dataset ?? {}
    if (icon === null) return
    icon.dataset.plain = plain
    icon.href = text === '' ? plain : unread
  }, [text])
  useEffect(() => () => setUnreadInTitle(''), [])
  return text
}

/** The conversation that the tab shows, by its `_id`, and the one that it showed before, until when. */
let shown: string | undefined
let left: { thread: string; at: number } | undefined

/** Nobody is told of what is written in a conversation while they look at it. */
export function useShown(thread: string): void {
  useEffect(() => {
    shown = thread
    return () => {
      if (shown === thread) shown = undefined
      left = { thread, at: Date.now() }
    }
  }, [thread])
}

type Question = { asks: string; at: number } | { looksAt: string }

/**
 * Tells of each message that the team is to read, a hand-over and what is assigned to the account as well: in whichever tab reads the stream for all of
 * them, so once, and not while a tab of the browser shows the conversation to somebody.
 */
export function useNotices(): void {
  useEffect(() => {
    const known = new Map<string, { unread: number; assignedAt: string | undefined }>()
    let tabs: BroadcastChannel | undefined
    const looks = (thread: string, at: number) =>
      (shown === thread && !document.hidden && document.hasFocus()) ||
      (left?.thread === thread && left.at >= at)
    const seen = new Set<string>()
    const hear = ({ data }: MessageEvent<Question>) => {
      if ('looksAt' in data) seen.add(data.looksAt)
      else if (looks(data.asks, data.at)) tabs?.postMessage({ looksAt: data.asks } satisfies Question)
    }
    const join = () => {
      tabs ??= new BroadcastChannel(`parley.looks.${account.get()}`)
      tabs.onmessage = hear
    }
    // The browser forgets a page that was left, rather than show it again, when a message comes to it.
    const leave = () => {
      tabs?.close()
      tabs = undefined
    }
    join()
    addEventListener('pageshow', join)
    addEventListener('pagehide', leave)
    const notifyOf = (thread: Thread, { isAssignment }: { isAssignment: boolean }) => {
      const { _id } = thread
      const at = Date.parse(isAssignment ? (thread.assignee?.at ?? '') : thread.lastAt)
      seen.delete(_id)
      tabs?.postMessage({ asks: _id, at } satisfies Question)
      setTimeout(() => {
        if (seen.delete(_id) || looks(_id, at)) return
        const last = shownLast(thread.lastMessage).slice(0, LONGEST)
        const text = isAssignment ? t('Assigned to you. {last}', { last }) : last
        const onClick = () => void leaveTo(`/conversations/${_id}`)
        raiseNotice({ tag: _id, title: nameOf(thread), text, onClick })
      }, RESPONSE_MS)
    }
    const unfollow = onLive(({ event, data }) => {
      if (event !== 'thread') return
      const thread = data as unknown as Thread
      const before = known.get(thread._id)
      const isNew = hasNewMessage(thread, before?.unread ?? 0)
      const isAssignment = isNewlyMine(thread, before?.assignedAt)
      known.delete(thread._id)
      known.set(thread._id, { unread: thread.unread, assignedAt: thread.assignee?.at })
      // Those of which nothing was said for long.
      for (const [oldest] of known) if (known.size > MOST_KNOWN) known.delete(oldest)
      if ((isNew || isAssignment) && isReader() && isRequested(thread, { isAssignment }))
        notifyOf(thread, { isAssignment })
    })
    return () => {
      unfollow()
      removeEventListener('pageshow', join)
      removeEventListener('pagehide', leave)
      leave()
    }
  }, [])
}

/** Whether the account is told of such a thing, by its settings. */
function isRequested({ assignee, unreadFor }: Thread, { isAssignment }: { isAssignment: boolean }): boolean {
  const { messages, handOvers, assignments, onlyOwn } = readNoticeSettings()
  if (isAssignment) return assignments
  const isOthers = assignee !== undefined && assignee._id !== me.get()?._id
  if (onlyOwn && isOthers) return false
  return unreadFor?.why === 'handed_off' ? handOvers : messages
}

const MOST_KNOWN = 2_000

const hasNewMessage = ({ unread, lastAt }: Thread, before: number): boolean =>
  unread > before && Date.now() - Date.parse(lastAt) < RECENT_MS

/** Somebody else has just assigned it to the account. */
function isNewlyMine({ assignee }: Thread, before: string | undefined): boolean {
  const own = me.get()?._id
  if (assignee?._id !== own || assignee === undefined || assignee.by === own) return false
  return assignee.at !== before && Date.now() - Date.parse(assignee.at) < RECENT_MS
}
