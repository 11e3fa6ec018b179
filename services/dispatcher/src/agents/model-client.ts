import type { JsonObject } from '@parley/shared/json-object'
import type { ModelProvider } from '@parley/shared/provider-addresses'
import type { ProviderMedia } from '../channels/media/fetch-media.ts'
import type { ToolCall, Turn } from '../message/turn.ts'

/** A tool as a model is told of it. */
export interface ToolDescription {
  /** Unique among the tools of a call, and valid for every provider: `^[a-zA-Z0-9_-]{1,64}$`. */
  name: string
  description: string
  /** JSON Schema of the arguments, an object. */
  inputSchema: JsonObject
}

/** Which model answers, and with whose key. */
export interface ModelChoice {
  provider: ModelProvider
  model: string
  baseUrl?: string
  apiKey?: string
  temperature?: number
  maxOutputTokens?: number
  /** It reads images. */
  vision?: boolean
  /** False where it is known that its text has no thoughts, so that all of it may be streamed. */
  reasoning?: boolean
  /** The deployment pays for it. */
  isDeployments?: boolean
}

export interface ModelRequest {
  workspace: number
  /** The system text. */
  system: string
  conversation: ConversationItem[]
  tools: ToolDescription[]
  timeoutMs: number
  signal: AbortSignal
  /** Told each piece of text as it comes. */
  onDelta?: (text: string) => void
}

/** The tokens that a discarded answer took, where the provider reports them. */
interface TokensTaken {
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
}

/** The result of one call of one model. */
export type ModelResult =
  | { kind: 'answered'; turn: Omit<Turn, 'at' | 'calls'> & { calls: Omit<ToolCall, 'result'>[] } }
  /** Another try, or the next fallback, may do better. */
  | ({ kind: 'retryable'; code: string; reason: string; retryAfterSeconds?: number } & TokensTaken)
  /** The provider's text, without key and prompt. */
  | ({ kind: 'refused'; code: string; reason: string } & TokensTaken)

/** Calls language models. */
export interface ModelClient {
  /** One call, no retries; within `timeoutMs`. Never rejects. */
  ask(choice: ModelChoice, request: ModelRequest): Promise<ModelResult>
}

/** A part of what a model answered, in its sequence: text and calls are named alone, a thought has its text. */
export interface ResponsePart {
  kind: 'thought' | 'text' | 'call'
  text?: string | undefined
  /** Values that its provider adds to it, such as a signature. */
  data?: Record<string, JsonObject> | undefined
}

/** The reasoning that a provider wants back with an answer of its model. */
export interface Reasoning {
  provider: string
  model: string
  parts: ResponsePart[]
}

/** The input of a model, oldest first. Only users who configure an assistant write system text. */
export type ConversationItem =
  | {
      role: 'person'
      text: string
      /** An image that a provider has. */
      image?: ProviderMedia
      images?: { mediaType: string; data: Buffer }[]
    }
  /** A message to the person, by the model, a caller of the API or somebody of the team. */
  | {
      role: 'assistant'
      text: string
      calls: (ToolCall & { result: NonNullable<ToolCall['result']> })[]
      /** Of a turn of the message that is being answered. */
      reasoning?: Reasoning
    }
  /** Facts about person, thread and task as JSON text, marked as data. */
  | {
      role: 'data'
      json: string
      /** The images that the data describe; only for a model that reads images. */
      images?: readonly { mediaType: string; data: Buffer }[]
    }
