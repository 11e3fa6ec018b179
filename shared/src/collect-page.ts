/** How much of JSON one page of a list has, roughly, unless it is of one document. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** The rough size in JSON of a number, or of what stands around a value. */
const SMALL = 8

/** The source of a page, batch by batch; the caller asks for one document more than it shows. */
interface PageCursor<T> {
  hasNext(): Promise<boolean>
  readBufferedDocuments(): T[]
  close(): Promise<void>
}

/**
 * The first `limit` documents, or fewer when they come to 8 MiB, but one at least; `more` says whether
 * another one follows.
 */
export async function collectPage<T extends object>(
  cursor: PageCursor<T>,
  limit: number,
): Promise<{ found: T[]; more: boolean }> {
  const found: T[] = []
  let bytes = 0
  try {
    while (await cursor.hasNext()) {
      for (const document of cursor.readBufferedDocuments()) {
        bytes += sizeOf(document)
        const isFull = found.length === limit || bytes > MAX_PAGE_BYTES
        if (isFull && found.length > 0) return { found, more: true }
        found.push(document)
      }
    }
    return { found, more: false }
  } finally {
    await cursor.close()
  }
}

/** About how many bytes of JSON it is; at least a third of them, where every character takes three. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return SMALL + value.length
  if (typeof value !== 'object' || value === null) return SMALL
  let bytes = SMALL
  if (Array.isArray(value)) for (const item of value) bytes += sizeOf(item)
  else {
    for (const key of Object.keys(value))
      bytes += key.length + sizeOf((value as Record<string, unknown>)[key])
  }
  return bytes
}
