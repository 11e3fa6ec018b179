import { useEffect, useState } from 'preact/hooks'
import { call, type Page } from './api.ts'
import { caughtUp, type Mark } from './caught-up.ts'
import { useLoad } from './load.ts'
import { createNoticeLedger, type DueNotice, type LeftNotices, type Reported } from './notice-ledger.ts'
import { isRequested, type NoticedThread, noticeText } from './notice-text.ts'
import { raiseNotice, readNoticeSettings } from './notices.ts'
import { may, me } from './rights.ts'
import { leaveTo } from './router.ts'
import { account } from './session.ts'
import { isReader, onLive } from './shared-stream.ts'
import { createStore } from './store.ts'
import { teams } from './teams.ts'
import { nameOf, type Thread } from './threads.ts'
import { setUnreadInTitle } from './title.ts'
import { createUnreadCount } from './unread-count.ts'

const MOST_COUNTED = 100
/** So long a tab that shows the conversation has to say so; what is received meanwhile is asked for together. */
const RESPONSE_MS = 250
/** Each change of a title costs the browser something, and there may be many tabs. */
const COUNTED_EVERY_MS = 1_000

/** How many conversations are unread, in words, empty for none: in the title and the icon of the tab, too. */
export function useUnread(): string {
  const mayRead = may('read', 'threads')
  const [text, setText] = useState('')
  const [count] = useState(() => createUnreadCount({ mostCounted: MOST_COUNTED }))
  const { data, reload } = useLoad(
    `unread ${mayRead}`,
    async (signal) => {
      if (!mayRead) return undefined
      count.ask()
      const query = { unread: 'true', limit: MOST_COUNTED }
      return call<Page<Thread>>('GET', '/rest/threads', { query, signal })
    },
    // The stream does not report erased conversations.
    { everyMs: 30_000, isInBackground: true, atMostMs: 30_000, live: ({ event }) => event === 'thread' },
  )
  useEffect(() => {
    count.read(data ?? { data: [], next: null })
    setText(count.text())
  }, [data])
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      timer = undefined
      setText(count.text())
      if (count.isUnknown()) reload()
    }
    const unfollow = onLive((event) => {
      if (event.event !== 'thread') return
      count.hear(event.data as unknown as Thread)
      timer ??= setTimeout(show, COUNTED_EVERY_MS)
    })
    return () => {
      clearTimeout(timer)
      unfollow()
    }
  }, [])
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

/** `asks`: who looks at one of the conversations says what it says of it back, so that it is settled before anything later comes. */
type Note = { asks: Reported[] } | { reported: Reported[] } | Mark

/**
 * Tells of each message that the team is to read, a hand-over and what is assigned to the account as well: in whichever tab
 * reads the stream for all of them, so once, and not while a tab of the browser shows the conversation to somebody. All tabs
 * know what was told, so that another one goes on where that one is closed; it leaves what it knows in the browser, since a tab
 * that is loaded meanwhile takes what is in its first list as told.
 */
export function useNotices(): void {
  useEffect(() => {
    const newLedger = () => createNoticeLedger({ own: () => me.get()?._id, teams: teams.get })
    let ledger = newLedger()
    let tabs: BroadcastChannel | undefined
    const say = (note: Note) => tabs?.postMessage(note)
    const looks = ({ reported, at }: Reported) =>
      (shown === reported && !document.hidden && document.hasFocus()) ||
      (left?.thread === reported && left.at >= Date.parse(at))
    /** It reads the stream, and knows what was reported before. */
    let isLeading = false
    const key = LEFT + account.get()
    let listed = Promise.withResolvers<void>()
    /** The notices that were left to this tab and that it has not heard again yet. */
    let resuming: LeftNotices | undefined
    const settle = (reported: readonly Reported[]) => {
      for (const one of reported) ledger.settle(one)
    }
    const hear = ({ data }: MessageEvent<Note>) => {
      if ('reported' in data) settle(data.reported)
      else if ('asks' in data) settleShown(data.asks)
    }
    /** Settles what is looked at, in all tabs. Returns the rest. */
    const settleShown = (all: readonly Reported[]): Reported[] => {
      const reported = all.filter(looks)
      if (reported.length > 0) say({ reported })
      settle(reported)
      return all.filter((one) => !reported.includes(one))
    }
    const join = () => {
      tabs ??= new BroadcastChannel(`parley.notices.${account.get()}`)
      tabs.onmessage = hear
    }
    // The browser forgets a page that was left, rather than show it again, when a message comes to it.
    const leave = () => {
      follow()
      tabs?.close()
      tabs = undefined
      // The tab does not hear of notices that are told meanwhile.
      ledger = newLedger()
      listed = Promise.withResolvers()
    }
    join()
    addEventListener('pageshow', join)
    addEventListener('pagehide', leave)
    let due: DueNotice[] = []
    let asking: ReturnType<typeof setTimeout> | undefined
    const notifyAll = (more: DueNotice[]) => {
      if (!isLeading) return
      report(more.filter((one) => !isRequestedHere(one)))
      due.push(...more.filter(isRequestedHere))
      if (due.length > 0 && asking === undefined) ask()
    }
    const ask = () => {
      const asked = due
      due = []
      const asks = settleShown(asked.map(reportOf))
      if (asks.length > 0) say({ asks })
      asking = setTimeout(() => {
        asking = undefined
        if (!isLeading) return
        report(asked)
        if (due.length > 0) ask()
      }, RESPONSE_MS)
    }
    /** Reports the notices; those that are not requested are reported to the other tabs only. */
    const report = (asked: readonly DueNotice[]) => {
      const taken = asked.flatMap((one) => {
        const found = ledger.take(one)
        return found ?? []
      })
      if (taken.length > 0) say({ reported: taken.map(({ reported }) => reported) })
      for (const { due, reported, count } of taken)
        if (!looks(reported) && isRequestedHere(due)) raise({ ...due, count })
    }
    let leading: AbortController | undefined
    /** Ends to lead, where it does. */
    const follow = () => {
      if (leading === undefined) return
      leading.abort()
      // One that has not led yet leaves what it has found.
      if (isLeading) leaveNotices(key, resuming ?? ledger.leave())
      leading = undefined
      isLeading = false
      due = []
      resuming = undefined
    }
    /** Tells the notices that the former tab did not come to; those that it did come to are heard first. */
    const lead = async () => {
      follow()
      if (!isReader.get() || tabs === undefined) return
      leading = new AbortController()
      const { signal } = leading
      await caughtUp(tabs, signal)
      if (signal.aborted) return
      isLeading = true
      resuming = takeNotices(key)
      // It would settle what is left.
      await listed.promise
      if (signal.aborted) return
      const again = resuming === undefined ? [] : ledger.resume(resuming)
      resuming = undefined
      notifyAll(ledger.waiting())
      for (const id of again) {
        const thread = await call<Thread>('GET', `/rest/threads/${id}`, { signal }).catch(() => undefined)
        if (signal.aborted) return
        if (thread !== undefined) notifyAll(ledger.hear(thread))
      }
    }
    const unfollow = onLive((event) => {
      if (event.event === 'thread') notifyAll(ledger.hear(event.data as unknown as Thread))
    })
    const read = () => {
      const list = unreadList.get()
      if (list === undefined) return
      notifyAll(ledger.read(list))
      listed.resolve()
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

const LEFT = 'parley.left-notices.'

/** Leaves what was told, and what was not, to the tab that reads the stream next: in the browser, without any text. */
function leaveNotices(key: string, left: LeftNotices): void {
  try {
    localStorage.setItem(key, JSON.stringify(left))
  } catch {
    // Full of something else. They are counted as unread.
  }
}

function takeNotices(key: string): LeftNotices | undefined {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '') as LeftNotices
  } catch {
    return undefined
  } finally {
    localStorage.removeItem(key)
  }
}

const reportOf = ({ kind, thread: { _id, unread }, at }: DueNotice): Reported => ({
  ...{ reported: _id, kind, at, unread },
})

const isRequestedHere = (due: DueNotice): boolean =>
  isRequested(due, { settings: readNoticeSettings(), own: me.get()?._id, teams: teams.get() })

function raise(noticed: NoticedThread): void {
  const { thread } = noticed
  const onClick = () => void leaveTo(`/conversations/${thread._id}`)
  raiseNotice({ tag: thread._id, title: nameOf(thread), text: noticeText(noticed), onClick })
}
