import mongoose from 'mongoose'

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/** What a page is read from; the caller asks for one document more than it shows. */
interface PageCursor<T> extends AsyncIterable<T> {
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
    for await (const document of cursor) {
      bytes += calculateObjectSize(document)
      const isFull = found.length === limit || bytes > MAX_PAGE_BYTES
      if (isFull && found.length > 0) return { found, more: true }
      found.push(document)
    }
    return { found, more: false }
  } finally {
    await cursor.close()
  }
}
