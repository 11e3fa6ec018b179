import type { JsonObject } from '@parley/shared/json-object'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { PersonalContent } from '../message/message-record.ts'
import type { ToolCall, ToolResult, ToolSource } from '../message/turn.ts'
import type { ToolDescription } from './model-client.ts'

/** The limits of one attempt at a call. */
export interface AttemptLimits {
  /** Where it is asked and says no, nothing has left. */
  mayLeave?: MayLeave
  /** How much time the message has left, in milliseconds: the attempt is broken off then. */
  leftMs?: number
  /** Once aborted, nothing begins, and what runs gets no more time than it has. */
  ended?: AbortSignal
}

/** A tool server's description of its tools, for the model, as data. */
export interface ServerInstructions {
  server: string
  instructions: string
}

/** The tools that one agent may call in one turn, 128 at most. */
export interface Toolbox {
  descriptions: ToolDescription[]
  /** The missing parts of the tools, and why, in sentences for users who configure the assistant; 20 at most. */
  notes?: readonly string[]
  /** Of the servers of its tools. */
  instructions?: readonly ServerInstructions[]
  /** Returns the source of the tool that a name among the descriptions stands for. */
  sourceOf(name: string): ToolSource | undefined
  /**
   * What a call of a tool is. With `of` it is that tool, whatever the name stands for by now. The arguments (JSON text of a model) are checked against the tool's schema: what does not
   * fit, and a tool that is not there, is `invalid`, with a text that lets the model correct it.
   */
  open(call: Pick<ToolCall, 'tool' | 'args' | 'of'>): Promise<OpenedTool>
  /** Ends what its calls had of servers. Waits for nothing; no call is made afterwards. */
  close?(): void
}

export type OpenedTool =
  /** Goes to the person by the channel's callback. */
  | { kind: 'say'; content: PersonalContent }
  /** A person is to take over. */
  | { kind: 'handOff'; reason: string }
  /** Over HTTP, to an action's server, an MCP server, or configuration (the task tools). */
  | {
      kind: 'call'
      /** The URL that it calls, for circuit breaker and limits; undefined for our own services. */
      url?: string
      /** True if it may be made again when it may have run; the default is true. */
      isRepeatable?: boolean
      /** True if that holds only under the same `id`: a further call of the model is another one. */
      isKeyed?: boolean
      /** True if it only reads: such calls of one action have no order among them. */
      isReadOnly?: boolean
      /** The longest one attempt takes, in milliseconds, as long as its server tells of no progress: 12 s unless said otherwise. */
      timeoutMs?: number
      /** One attempt, with `id` as the idempotency key. Never rejects. */
      deliver(id: string, limits?: AttemptLimits): Promise<ToolOutcome>
    }
  | { kind: 'invalid'; reason: string }

export type ToolOutcome =
  | { kind: 'answered'; result: ToolResult }
  /** It was not done, or may be done again; tried again for 30 s at most. */
  | { kind: 'unreached'; reason: string; mayHaveRun?: boolean }
  /** It may have been done, and may not be done again. */
  | { kind: 'uncertain'; reason: string; result: ToolResult }

/** Something that a model may call, before it has its final name. */
export interface Tool {
  /** Its name at the place where it comes from. */
  name: string
  description: string
  inputSchema: JsonObject
  /** Checks the arguments, which are an object, and gets the call ready. */
  open(args: JsonObject): Promise<OpenedTool> | OpenedTool
}
