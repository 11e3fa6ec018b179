import { Problem } from '@parley/shared/problem'

/** A body that has not arrived yet. */
export interface UnfinishedBody {
  /** Called when it has to make room for others. */
  giveUp(): void
}

/** The unfinished bodies of one class of callers. */
export interface UnfinishedBodies {
  /**
   * Counts a body of the caller that `key` names, until the function that it returns is called. Throws `rate_limited`
   * when that caller has too many. When there are too many in all, the caller with the most loses the oldest of theirs.
   */
  begin(key: string, body: UnfinishedBody): () => void
}

/** At most `perCaller` for each key and `total` for all together. */
export function createUnfinishedBodies(limits: { perCaller: number; total: number }): UnfinishedBodies {
  const byCaller = new Map<string, Set<UnfinishedBody>>()
  let count = 0
  const end = (key: string, body: UnfinishedBody) => {
    const own = byCaller.get(key)
    if (own?.delete(body) !== true) return
    count--
    if (own.size === 0) byCaller.delete(key)
  }
  const makeRoom = () => {
    let [most] = byCaller
    for (const entry of byCaller) if (most === undefined || entry[1].size > most[1].size) most = entry
    const [oldest] = most?.[1] ?? []
    if (most === undefined || oldest === undefined) return
    end(most[0], oldest)
    oldest.giveUp()
  }
  return {
    begin(key, body) {
      const own = byCaller.get(key) ?? new Set()
      if (own.size >= limits.perCaller)
        throw new Problem('rate_limited', { detail: 'Too many bodies of yours are unfinished.' })
      if (count >= limits.total) makeRoom()
      byCaller.set(key, own.add(body))
      count++
      return () => end(key, body)
    },
  }
}
