import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from './api.ts'
import { me } from './rights.ts'
import { session } from './session.ts'
import { type LiveEvent, onLive } from './shared-stream.ts'
import type { Said } from './threads.ts'

/** A tab says it at most so often. */
const EVERY_MS = 10_000
/** Whoever has not said so for so long is absent. */
const ABSENT_MS = 25_000

/** A colleague who has the conversation open. */
interface Present {
  _id: number
  name: string
  isTyping: boolean
  /** When they said so, in milliseconds since the epoch. */
  at: number
  /** The last reply of theirs by then. */
  lastSaid: string | undefined
}

/** The conversation that somebody types a reply in here, and when they last did. */
let typed: { thread: string; at: number } | undefined

/** The team is shown that somebody types a reply in a conversation, until it is sent or nothing was typed for a while. */
export function markTyped(thread: string): void {
  typed = { thread, at: Date.now() }
}

export function markSent(): void {
  typed = undefined
}

interface PresenceOptions {
  thread: { _id: string }
  isOf(data: LiveEvent['data']): boolean
  /** The messages of the thread: a colleague who has sent a reply does not type it any more. */
  said: readonly Said[] | undefined
}

/**
 * Shows the team that this conversation is open, while somebody sees the tab, and returns who else has it open. Without
 * the event stream that is nobody.
 */
export function usePresence({ thread: { _id: thread }, isOf, said = [] }: PresenceOptions): Present[] {
  const [present, setPresent] = useState<ReadonlyMap<number, Present>>(new Map())
  const latest = useRef(said)
  latest.current = said
  useEffect(() => showOpen(thread), [thread])
  useEffect(
    () =>
      onLive((event) => {
        if (event.event !== 'presence' || !isOf(event.data)) return
        const { by, typing } = event.data as unknown as { by: { _id: number; name: string }; typing: boolean }
        if (by._id === me.get()?._id) return
        const lastSaid = lastOf(by, latest.current)
        setPresent((before) =>
          new Map(before).set(by._id, { ...by, isTyping: typing, at: Date.now(), lastSaid }),
        )
      }),
    [thread],
  )
  useEffect(() => {
    if (present.size === 0) return
    const last = Math.min(...[...present.values()].map(({ at }) => at))
    const timer = setTimeout(() => setPresent(stillHere), last + ABSENT_MS - Date.now())
    return () => clearTimeout(timer)
  }, [present])
  return [...present.values()].map((one) => ({
    ...one,
    isTyping: one.isTyping && lastOf(one, said) === one.lastSaid,
  }))
}

const stillHere = (present: ReadonlyMap<number, Present>): ReadonlyMap<number, Present> =>
  new Map([...present].filter(([, { at }]) => Date.now() - at < ABSENT_MS))

const lastOf = ({ _id }: Pick<Present, '_id'>, said: readonly Said[]): string | undefined =>
  said.findLast(({ by }) => by?._id === _id)?._id

/** When this tab last said what it shows. */
let shownAt = Number.NEGATIVE_INFINITY

/** Says at most every 10 s that the conversation is open, while the tab is seen. Returns what ends that. */
function showOpen(thread: string): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = () => {
    clearTimeout(timer)
    if (document.hidden) return
    const waitMs = shownAt + EVERY_MS - Date.now()
    timer = setTimeout(show, waitMs > 0 ? waitMs : EVERY_MS)
    if (waitMs > 0 || session.get() !== 'in') return
    shownAt = Date.now()
    const typing = typed?.thread === thread && shownAt - typed.at < EVERY_MS
    // One that is not shown is missed by nobody.
    void call('POST', `/rest/threads/${thread}/presence`, { body: { typing } }).catch(() => undefined)
  }
  show()
  document.addEventListener('visibilitychange', show)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', show)
  }
}
