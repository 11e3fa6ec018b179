import type { Page } from './api.ts'
import type { Thread } from './threads.ts'

/** Which conversations are unread: by the list of them, and by what the stream says until the next list. */
interface UnreadCount {
  /** A list is asked for: what is heard until it is there may be later than what it has. */
  ask(): void
  read(list: Pick<Page<Thread>, 'data' | 'next'>): void
  hear(thread: Pick<Thread, '_id' | 'unread'>): void
  /** How many there are, in words, empty for none. */
  text(): string
  /** So many were read that the list has to be asked for again to know how many are left. */
  isUnknown(): boolean
}

export function createUnreadCount({ mostCounted }: { mostCounted: number }): UnreadCount {
  let unread = new Set<string>()
  /** There are others. */
  let hasMore = false
  let heard: Map<string, boolean> | undefined
  const add = (id: string, isUnread: boolean) => {
    unread.delete(id)
    if (isUnread && unread.size < mostCounted) unread.add(id)
    else hasMore ||= isUnread
  }
  return {
    ask() {
      heard = new Map()
    },
    read({ data, next }) {
      unread = new Set(data.map(({ _id }) => _id))
      hasMore = next !== null
      for (const [id, isUnread] of heard ?? []) add(id, isUnread)
      heard = undefined
    },
    hear({ _id, unread: count }) {
      heard?.set(_id, count > 0)
      add(_id, count > 0)
    },
    text: () => (unread.size === 0 ? '' : `${unread.size}${hasMore ? '+' : ''}`),
    isUnknown: () => hasMore && unread.size < mostCounted / 2,
  }
}
