interface AgentFeatures {
  /** It speaks for an assistant, which its channel names. */
  assistant: boolean
  /** It works in turns of a model. */
  turns: boolean
}

/** The built-in agents that a channel's `handlerUrl` may name, `native:agents/<type>`, and what each has. */
export const AGENTS = {
  echo: { assistant: false, turns: false },
  chat: { assistant: true, turns: true },
  functionCall: { assistant: true, turns: true },
  taskManager: { assistant: true, turns: true },
  transcriber: { assistant: false, turns: false },
} as const satisfies Record<string, AgentFeatures>

type AgentName = keyof typeof AGENTS

export const AGENT_TYPES = Object.keys(AGENTS) as AgentName[]

/** One that works in turns of a model. */
export type TurnAgent = {
  [Name in AgentName]: (typeof AGENTS)[Name]['turns'] extends true ? Name : never
}[AgentName]
export const TURN_AGENTS = AGENT_TYPES.filter((name): name is TurnAgent => AGENTS[name].turns)
