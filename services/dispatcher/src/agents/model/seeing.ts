import type { Channel } from '../../channels/channels.ts'
import { fetchMedia, type ProviderMedia } from '../../channels/media/fetch-media.ts'
import type { MediaSources } from '../../channels/media/read-media.ts'
import type {
  ConversationItem,
  ModelChoice,
  ModelClient,
  ModelRequest,
  ModelResult,
} from '../model-client.ts'

/** The latest ones of a conversation; each has up to 5 MiB in memory, thrice. */
const MAX_IMAGES = 4
const MAX_IMAGE_BYTES = 5 * 1024 * 1024
const MAX_BYTES = 8 * 1024 * 1024
/** For all of them. */
const LOAD_MS = 16_000
const SHARE_OF_TIME = 1 / 3
/** Image types that all providers read. */
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif'])

const UNSEEN = '[The person sent an image, which you can not see.]'
const NOT_LOADED = '[The person sent an image, which can not be loaded.]'

type PersonItem = Extract<ConversationItem, { role: 'person' }>

/** Asks a model, as {@link ModelClient}, with the images of the conversation where it reads images. Never rejects. */
export type AskSeeing = (
  choice: ModelChoice,
  request: ModelRequest & { channel: Channel },
) => Promise<ModelResult>

/**
 * A model that reads no images is told of them. One that does gets the latest four, 5 MiB each and 8 MiB together at
 * most; one that can't be loaded is told of too. All are loaded within 16 s, or a third of the call's time where that
 * is less.
 */
export function createAskSeeing(options: {
  model: Pick<ModelClient, 'ask'>
  http: MediaSources['http']
}): AskSeeing {
  const { model, http } = options
  return async (choice, { channel, ...given }) => {
    const request = seenBy(choice, given)
    const needed = imagesFor(choice, request)
    if (needed.length === 0)
      return model.ask(choice, { ...request, conversation: withImages(request.conversation, new Map()) })
    const started = performance.now()
    const images = await imagesOf(needed, { http, channel, signal: untilLoaded(request) })
    const timeoutMs = Math.max(1, request.timeoutMs - (performance.now() - started))
    const conversation = withImages(request.conversation, images)
    return model.ask(choice, { ...request, timeoutMs, conversation })
  }
}

/** However slow the provider's media are, there is time left for the model to answer. */
function untilLoaded({ signal, timeoutMs }: Pick<ModelRequest, 'signal' | 'timeoutMs'>): AbortSignal {
  const ms = Math.min(LOAD_MS, timeoutMs * SHARE_OF_TIME)
  // It takes whole milliseconds only.
  return AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(ms))])
}

/** True if a model is given images of the conversation, which are then in memory. */
export function isSeeing(choice: ModelChoice, request: Pick<ModelRequest, 'conversation'>): boolean {
  return imagesFor(choice, request).length > 0 || seenBy(choice, request).conversation.some(isOfTools)
}

const isOfTools = (item: ConversationItem): boolean => item.role === 'data' && item.images !== undefined

/** Without what tools gave as images where the model reads none: their results say that there were some. */
export function seenBy<R extends Pick<ModelRequest, 'conversation'>>({ vision }: ModelChoice, request: R): R {
  if (vision === true) return request
  return { ...request, conversation: request.conversation.filter((item) => !isOfTools(item)) }
}

const imagesFor = (
  choice: ModelChoice,
  { conversation }: Pick<ModelRequest, 'conversation'>,
): ProviderMedia[] => (choice.vision === true ? latestImages(conversation) : [])

function latestImages(conversation: ConversationItem[]): ProviderMedia[] {
  const images = conversation.flatMap((item) => (item.role === 'person' && item.image ? [item.image] : []))
  return [...new Map(images.slice(-MAX_IMAGES).map((image) => [keyOf(image), image])).values()]
}

const keyOf = ({ source, mediaId }: ProviderMedia): string => `${source}/${mediaId}`

type Loaded = NonNullable<PersonItem['images']>[number] | undefined

/** Undefined for one that can't be loaded; the latest come first where there is not room for all. */
async function imagesOf(
  needed: ProviderMedia[],
  { signal, ...from }: { http: MediaSources['http']; channel: Channel; signal: AbortSignal },
): Promise<Map<string, Loaded>> {
  const images = new Map<string, Loaded>()
  let room = MAX_BYTES
  for (const one of needed.toReversed()) {
    const maxBytes = Math.min(MAX_IMAGE_BYTES, room)
    const media = signal.aborted
      ? undefined
      : await fetchMedia({ ...from, media: one, maxBytes, signal }).catch(() => undefined)
    const isImage = media !== undefined && IMAGE_TYPES.has(media.contentType)
    images.set(keyOf(one), isImage ? { mediaType: media.contentType, data: media.bytes } : undefined)
    room -= isImage ? media.bytes.length : 0
  }
  return images
}

/** Each image in its place, or what the model is told of it. */
function withImages(conversation: ConversationItem[], images: Map<string, Loaded>): ConversationItem[] {
  return conversation.map((item) => {
    if (item.role !== 'person' || item.image === undefined) return item
    const { text } = item
    const key = keyOf(item.image)
    const image = images.get(key)
    if (image !== undefined) return { role: 'person', text, images: [image] }
    const note = images.has(key) ? NOT_LOADED : UNSEEN
    return { role: 'person', text: text === '' ? note : `${text}\n${note}` }
  })
}
