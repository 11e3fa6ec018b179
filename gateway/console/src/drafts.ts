import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { account } from './session.ts'
import { createStore, useStore } from './store.ts'

const PREFIX = 'parley.draft.'
const MOST_DRAFTS = 50
/** Of a draft as JSON; a longer one is there as long as its page is. */
const LONGEST = 64 * 1024
/** Each key that is pressed in any tab changes a draft. */
const DRAWN_AGAIN_MS = 250

interface Stored {
  at: number
  value: unknown
}

const prefixOf = (owner: string): string => `${PREFIX}${owner}.`
/** Counts the changes in any tab, so that lists of drafts are drawn anew. */
const changes = createStore(0)
let drawing: ReturnType<typeof setTimeout> | undefined
function changed(): void {
  if (drawing !== undefined) return
  // A hidden page is drawn once somebody sees it.
  if (document.hidden) {
    document.addEventListener('visibilitychange', changed, { once: true })
    return
  }
  drawing = setTimeout(() => {
    drawing = undefined
    changes.set(changes.get() + 1)
  }, DRAWN_AGAIN_MS)
}

/** Changes a draft by what it is at that moment; `undefined` removes it. */
export type ChangeDraft<T> = (to: (now: T | undefined) => T | undefined) => void

/**
 * What is typed for one conversation, kept in the browser for the account that types: there after a reload, in each tab,
 * until it is changed to `undefined` or the account logs out. Of an account there are 50, the latest. What ends after its
 * page was left changes what is typed by then.
 */
export function useDraft<T>(id: string): [draft: T | undefined, change: ChangeDraft<T>] {
  const owner = useStore(account)
  const key = owner === undefined ? undefined : prefixOf(owner) + id
  const [draft, setDraft] = useState<T | undefined>(() => read<T>(key))
  const latest = useRef(draft)
  latest.current = draft
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  useEffect(() => {
    setDraft(() => read<T>(key))
    const follow = (event: StorageEvent) => {
      if (event.key === key) setDraft(() => read<T>(key))
    }
    addEventListener('storage', follow)
    return () => removeEventListener('storage', follow)
  }, [key])
  const change: ChangeDraft<T> = (to) => {
    const next = to(isShown.current ? latest.current : read<T>(key))
    if (isShown.current) {
      latest.current = next
      setDraft(() => next)
    }
    if (key === undefined || (!isShown.current && account.get() !== owner)) return
    write(key, next)
    // Whoever shows it by now reads it again, as if another tab had changed it.
    if (!isShown.current) dispatchEvent(new StorageEvent('storage', { key }))
  }
  return [draft, change]
}

/** The drafts by their conversations; the component is rendered again when one changes. */
export function useDrafts<T>(): ReadonlyMap<string, T | undefined> {
  const owner = useStore(account)
  const at = useStore(changes)
  return useMemo(() => {
    const prefix = owner && prefixOf(owner)
    if (!prefix) return new Map()
    return new Map(keysOf(prefix).map((key) => [key.slice(prefix.length), read<T>(key)]))
  }, [owner, at])
}

/** Removes the drafts of the account. */
export function dropDrafts(owner = account.get()): void {
  if (owner !== undefined) for (const key of keysOf(prefixOf(owner))) localStorage.removeItem(key)
  changed()
}

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(PREFIX)) changed()
})

const keysOf = (prefix: string): string[] => Object.keys(localStorage).filter((key) => key.startsWith(prefix))

function stored(key: string): Stored | undefined {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '') as Stored
  } catch {
    return undefined
  }
}

const read = <T>(key: string | undefined): T | undefined =>
  key === undefined ? undefined : (stored(key)?.value as T | undefined)

function write(key: string, value: unknown): void {
  const text = JSON.stringify({ at: Date.now(), value } satisfies Stored)
  const isStored = value !== undefined && text.length <= LONGEST
  if (isStored) makeRoom(key)
  try {
    if (isStored) localStorage.setItem(key, text)
    else localStorage.removeItem(key)
  } catch {
    // Full of something else: the draft is there as long as its page is, and no older one in its place.
    localStorage.removeItem(key)
  }
  changed()
}

/** The oldest go where there are as many as there may be. */
function makeRoom(key: string): void {
  if (localStorage.getItem(key) !== null) return
  const others = keysOf(key.slice(0, key.indexOf('.', PREFIX.length) + 1))
  if (others.length < MOST_DRAFTS) return
  const oldestFirst = others.toSorted((one, other) => (stored(one)?.at ?? 0) - (stored(other)?.at ?? 0))
  for (const one of oldestFirst.slice(0, others.length - MOST_DRAFTS + 1)) localStorage.removeItem(one)
}
