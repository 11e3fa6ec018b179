import { LRUCache } from 'lru-cache'
import type { ConversationItem } from '../model-client.ts'

/** How long a message may need them, in milliseconds. */
const TTL_MS = 15 * 60 * 1_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_IMAGES = 4
const MAX_SHOWN_BYTES = 8 * 1024 * 1024

/** An image that a tool gave. */
export interface ToolImage {
  mediaType: string
  data: Buffer
}

/** The images of results by the id of the call, for the model's next turns. */
export interface ToolImages {
  put(id: string, images: readonly ToolImage[]): void
  get(id: string): readonly ToolImage[]
}

/**
 * In memory of this process alone, 64 MiB at most, four of each result: where another process goes on with the message,
 * the model reads that there was an image.
 */
export function createToolImages(): ToolImages {
  const known = new LRUCache<string, readonly ToolImage[]>({
    maxSize: MAX_BYTES,
    ttl: TTL_MS,
    sizeCalculation: (images) => images.reduce((sum, { data }) => sum + data.length, 1),
  })
  return {
    put(id, images) {
      if (images.length > 0) known.set(id, images.slice(0, MAX_IMAGES))
    },
    get: (id) => known.get(id) ?? [],
  }
}

/** The images that the calls of a message gave, the latest four, 8 MiB together at most, as one item after its turns. */
export function imageItems(
  images: Pick<ToolImages, 'get'>,
  calls: readonly { tool: string; id: string }[],
): ConversationItem[] {
  let room = MAX_SHOWN_BYTES
  const shown = calls
    .flatMap(({ tool, id }) => images.get(id).map((image) => ({ tool, image })))
    .slice(-MAX_IMAGES)
    .filter(({ image }) => {
      room -= image.data.length
      return room >= 0
    })
  if (shown.length === 0) return []
  const json = JSON.stringify({ imagesOfToolResults: shown.map(({ tool }) => tool) })
  return [{ role: 'data', json, images: shown.map(({ image }) => image) }]
}
