import { useEffect, useState } from 'preact/hooks'
import { account } from './session.ts'
import { createStore, useStore } from './store.ts'

const PREFIX = 'parley.draft.'
const MOST_DRAFTS = 50
/** Of a draft as JSON; a longer one is there as long as its page is. */
const LONGEST = 64 * 1024

interface Stored {
  at: number
  value: unknown
}

const prefixOf = (owner: string): string => `${PREFIX}${owner}.`
/** Counts the changes in any tab, so that lists of drafts are drawn anew. */
const changes = createStore(0)
const changed = () => changes.set(changes.get() + 1)

/**
 * What is typed for one conversation, kept in the browser for the account that types: there after a reload, in each tab,
 * until `undefined` is set or the account logs out. Of an account there are 50, the latest.
 */
export function useDraft<T>(id: string): [draft: T | undefined, set: (value: T | undefined) => void] {
  const owner = useStore(account)
  const key = owner === undefined ? undefined : prefixOf(owner) + id
  const [draft, setDraft] = useState<T | undefined>(() => read<T>(key))
  useEffect(() => {
    setDraft(() => read<T>(key))
    const follow = (event: StorageEvent) => {
      if (event.key === key) setDraft(() => read<T>(key))
    }
    addEventListener('storage', follow)
    return () => removeEventListener('storage', follow)
  }, [key])
  const set = (value: T | undefined) => {
    setDraft(() => value)
    if (key !== undefined) write(key, value)
  }
  return [draft, set]
}

/** A function that reads the draft of a conversation; the component is rendered again when one changes. */
export function useDrafts<T>(): (id: string) => T | undefined {
  const owner = useStore(account)
  useStore(changes)
  return (id) => (owner === undefined ? undefined : read<T>(prefixOf(owner) + id))
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
  localStorage.removeItem(key)
  if (value !== undefined && text.length <= LONGEST) {
    makeRoom(key)
    try {
      localStorage.setItem(key, text)
    } catch {
      // Full of something else: the draft is there as long as its page is.
    }
  }
  changed()
}

/** The oldest go where there are as many as there may be. */
function makeRoom(key: string): void {
  const others = keysOf(key.slice(0, key.indexOf('.', PREFIX.length) + 1))
  if (others.length < MOST_DRAFTS) return
  const oldestFirst = others.toSorted((one, other) => (stored(one)?.at ?? 0) - (stored(other)?.at ?? 0))
  for (const one of oldestFirst.slice(0, others.length - MOST_DRAFTS + 1)) localStorage.removeItem(one)
}
