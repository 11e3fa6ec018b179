import { useEffect } from 'preact/hooks'
import { call, type Page } from './api.ts'
import { caughtUp, type Mark } from './caught-up.ts'
import { t } from './language.ts'
import { useLoad } from './load.ts'
import { createNoticeLedger, type DueNotice, type Reported } from './notice-ledger.ts'
import { raiseNotice, readNoticeSettings } from './notices.ts'
import { may, me } from './rights.ts'
import { leaveTo } from './router.ts'
import { account } from './session.ts'
import { isReader, onLive } from './shared-stream.ts'
import { createStore } from './store.ts'
import { nameOf, shownLast, type Thread } from './threads.ts'
import { setUnreadInTitle } from './title.ts'

const MOST_COUNTED = 100
const LONGEST = 140
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
  useEffect(() => unreadList.set(data), [data])
  useEffect(() => () => unreadList.set(undefined), [])
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

/** The list that the count is of: it has what the stream did not say. */
const unreadList = createStore<Page<Thread> | undefined>(undefined)

/** `asks`: who looks at that conversation says what it says back, so that it is settled before anything later comes. */
type Note = { asks: Reported } | Reported | Mark

/**
 * Tells of each message that the team is to read, a hand-over and what is assigned to the account as well: in whichever tab
 * reads the stream for all of them, so once, and not while a tab of the browser shows the conversation to somebody. All tabs
 * know what was told, so that another one goes on where that one is closed.
 */
export function useNotices(): void {
  useEffect(() => {
    const newLedger = () => createNoticeLedger({ own: () => me.get()?._id })
    let ledger = newLedger()
    let tabs: BroadcastChannel | undefined
    const say = (note: Note) => tabs?.postMessage(note)
    const looks = ({ reported, at }: Reported) =>
      (shown === reported && !document.hidden && document.hasFocus()) ||
      (left?.thread === reported && left.at >= Date.parse(at))
    /** It reads the stream, and knows what was reported before. */
    let isLeading = false
    const hear = ({ data }: MessageEvent<Note>) => {
      if ('reported' in data) ledger.settle(data)
      else if ('asks' in data && looks(data.asks)) {
        say(data.asks)
        ledger.settle(data.asks)
      }
    }
    const join = () => {
      tabs ??= new BroadcastChannel(`parley.looks.${account.get()}`)
      tabs.onmessage = hear
    }
    // The browser forgets a page that was left, rather than show it again, when a message comes to it.
    const leave = () => {
      leading?.abort()
      isLeading = false
      tabs?.close()
      tabs = undefined
      // What is told meanwhile it does not hear.
      ledger = newLedger()
    }
    join()
    addEventListener('pageshow', join)
    addEventListener('pagehide', leave)
    const notify = (due: DueNotice) => {
      const { kind, thread, at } = due
      const asked = { reported: thread._id, kind, at, unread: thread.unread }
      if (looks(asked)) {
        say(asked)
        ledger.settle(asked)
        return
      }
      say({ asks: asked })
      setTimeout(() => {
        if (!isLeading) return
        const taken = ledger.take(due)
        if (taken === undefined) return
        say(taken.reported)
        if (looks(taken.reported) || !isRequested(due)) return
        const onClick = () => void leaveTo(`/conversations/${thread._id}`)
        const text = textOf({ ...due, thread: taken.thread }, taken.count)
        raiseNotice({ tag: thread._id, title: nameOf(taken.thread), text, onClick })
      }, RESPONSE_MS)
    }
    const notifyAll = (due: DueNotice[]) => {
      if (isLeading) due.forEach(notify)
    }
    let leading: AbortController | undefined
    /** What the tab that read before did not come to; what it did come to is heard first. */
    const lead = async () => {
      isLeading = false
      leading?.abort()
      if (!isReader.get() || tabs === undefined) return
      leading = new AbortController()
      const { signal } = leading
      await caughtUp(tabs, signal)
      if (signal.aborted) return
      isLeading = true
      notifyAll(ledger.waiting())
    }
    const unfollow = onLive(({ event, data }) => {
      if (event === 'thread') notifyAll(ledger.hear(data as unknown as Thread))
    })
    const read = () => {
      const list = unreadList.get()
      if (list !== undefined) notifyAll(ledger.read(list))
    }
    read()
    void lead()
    const unsubscribe = [unreadList.subscribe(read), isReader.subscribe(lead)]
    return () => {
      unfollow()
      for (const end of unsubscribe) end()
      removeEventListener('pageshow', join)
      removeEventListener('pagehide', leave)
      leave()
    }
  }, [])
}

function textOf({ kind, thread }: DueNotice, count: number): string {
  const last = shownLast(thread.lastMessage).slice(0, LONGEST)
  if (kind === 'assignment') return t('Assigned to you. {last}', { last })
  return count === 1 ? last : t('{count} new messages. {last}', { count, last })
}

/** Whether the account is told of such a thing, by its settings. */
function isRequested({ kind, thread: { assignee, unreadFor } }: DueNotice): boolean {
  const { messages, handOvers, assignments, onlyOwn } = readNoticeSettings()
  if (kind === 'assignment') return assignments
  const isOthers = assignee !== undefined && assignee._id !== me.get()?._id
  if (onlyOwn && isOthers) return false
  return unreadFor?.why === 'handed_off' ? handOvers : messages
}
