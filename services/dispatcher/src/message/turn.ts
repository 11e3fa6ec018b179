/** One turn of an agent: what a model answered, and what came of the tools that it called. */
export interface Turn {
  at: Date
  provider: string
  model: string
  inputTokens: number
  outputTokens: number
  /** Of the input those that the provider had in its cache; left out where there were none. */
  cachedTokens?: number
  /** How long the model took, in milliseconds. */
  ms: number
  /** Why the model stopped, as the AI SDK names it: `stop`, `tool-calls`, `length`, … */
  finishReason: string
  /** The text of the model; empty when it only called tools. */
  text: string
  calls: ToolCall[]
  /** The reasoning that its provider wants back with it during the same message, as JSON text; nobody else is shown it. */
  reasoning?: string
}

/** A call of a tool by a model. */
export interface ToolCall {
  /** The provider's id of the call. */
  id: string
  /** The tool's name as the model was given it. */
  tool: string
  /** The source that the name stood for then; left out where it stood for nothing. */
  of?: ToolSource
  /** The arguments as JSON text, as the model wrote them. */
  args: string
  /** There once the tool has run, or can't. */
  result?: ToolResult
}

/** Where a tool comes from. */
export interface ToolSource {
  /** The id of its action; built-in tools are of none. */
  action?: number
  /** Its name there: at most 256 characters. */
  name: string
}

/** The beginning of the result of a call that may have been done, and is not repeated automatically. */
export const MAY_HAVE_RUN = 'This may have been done, and must not be repeated: look up whether it was done.'

/** The result of a call as a model gets it. */
export interface ToolResult {
  /** `failed` is an answer too: the model decides what follows. */
  state: 'done' | 'failed'
  /** The HTTP status, where it was a call over HTTP that was answered. */
  status?: number
  /** At most 16 KiB. */
  text: string
  /** There was more. */
  cut?: true
  /** It is not known if it was done, and it is not made again. */
  uncertain?: true
}
