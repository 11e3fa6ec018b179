/** The built-in agents that a channel's `handlerUrl` may name: `native:agents/<type>`. */
export const AGENT_TYPES = ['echo', 'chat', 'functionCall', 'taskManager', 'transcriber'] as const
