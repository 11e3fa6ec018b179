import { call, type Page } from './api.ts'
import { useLoad } from './load.ts'
import type { Thread } from './threads.ts'

const LOOKED_AT = 200
const EVERY_MS = 60_000

/** The labels of the latest conversations. */
export function useKnownLabels(): string[] {
  const load = async (signal: AbortSignal) => {
    const query = { limit: LOOKED_AT }
    const { data } = await call<Page<Thread>>('GET', '/rest/threads', { query, signal })
    return [...new Set(data.flatMap(({ labels = [] }) => labels))].toSorted()
  }
  return useLoad('labels', load, { everyMs: EVERY_MS }).data ?? []
}
