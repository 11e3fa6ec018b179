const LISTS = ['messages', 'statuses', 'errors']
const BESIDE = ['messaging_product', 'metadata']

/**
 * How many things a payload of Meta's has, counted apart from the code under test: each message, status and error, each
 * change of another field, and each part that should have had some and can't be read.
 */
export function countOf(payload: unknown): number {
  return sumOf(payload, 'entry', (entry) => sumOf(entry, 'changes', changeCount))
}

function sumOf(parent: unknown, key: string, count: (one: unknown) => number): number {
  if (!isObject(parent)) return 1
  if (!Object.hasOwn(parent, key)) return 0
  const items = parent[key]
  return Array.isArray(items) ? items.reduce((sum: number, one) => sum + count(one), 0) : 1
}

function changeCount(change: unknown): number {
  if (!isObject(change) || !isObject(change.value)) return 1
  const { field, value } = change
  if (typeof field === 'string' && Object.hasOwn(OF_APP, field))
    return Math.max(1, OF_APP[field]?.(value) ?? 0)
  if (typeof field === 'string' && field !== '' && field !== 'messages') return 1
  const keys = Object.keys(value).filter((key) => !BESIDE.includes(key))
  const lists = keys.filter((key) => LISTS.includes(key))
  const inLists = lists.reduce((sum, key) => sum + lengthOf(value[key]), 0)
  const others = keys.filter((key) => !LISTS.includes(key))
  if (lists.length === 0) return others.length > 0 ? 1 : 0
  const isList = (key: string) => key !== 'contacts' && Array.isArray(value[key]) && lengthOf(value[key]) > 0
  return inLists + (others.some(isList) ? 1 : 0)
}

/** Fields of numbers that are in the app of the business as well. What has no list at all is one thing. */
const OF_APP: Record<string, (value: Record<string, unknown>) => number> = {
  smb_message_echoes: (value) => sumOf(value, 'message_echoes', () => 1),
  smb_app_state_sync: (value) => sumOf(value, 'state_sync', () => 1),
  history: (value) => sumOf(value, 'history', chunkCount) + sumOf(value, 'messages', () => 1),
}

const chunkCount = (chunk: unknown): number =>
  sumOf(chunk, 'threads', (thread) => sumOf(thread, 'messages', () => 1)) +
  (isObject(chunk) && Object.hasOwn(chunk, 'errors') ? 1 : 0)

const lengthOf = (items: unknown): number => (Array.isArray(items) ? items.length : 1)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
