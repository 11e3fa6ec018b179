import type { ProviderMedia } from '../channels/media/fetch-media.ts'
import type { ToolCall } from '../message/turn.ts'

/** What a model is given to read, oldest first. Only who configures an assistant writes system text. */
export type ConversationItem =
  | {
      role: 'person'
      text: string
      /** An image that a provider has. */
      image?: ProviderMedia
      images?: { mediaType: string; data: Buffer }[]
    }
  /** What was said to the person, by the model, a caller of the API or somebody of the team. */
  | { role: 'assistant'; text: string; calls: (ToolCall & { result: NonNullable<ToolCall['result']> })[] }
  /** Facts about person, thread and task as JSON text, marked as data. */
  | { role: 'data'; json: string }
