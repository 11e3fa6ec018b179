import { TURN_AGENTS, type TurnAgent } from '@parley/shared/agents'
import type { Channel } from '../../channels/channels.ts'
import type { AgentKind } from '../agent.ts'
import { personTools } from '../tools/person-tools.ts'
import { taskManager } from './task-manager.ts'

/** The kinds of agents that work in turns of a model, by what `native:agents/<type>` names. */
export const AGENT_KINDS: Record<TurnAgent, AgentKind> = {
  chat: { type: 'chat' },
  functionCall: { type: 'functionCall', tools: (_needed, { channel }) => personTools(channel) },
  taskManager,
}

const KINDS = new Map(TURN_AGENTS.map((type) => [`native:agents/${type}`, AGENT_KINDS[type]]))

/** The kind of the agent that answers on a channel; undefined where it is no agent with a model. */
export const kindOf = ({ handlerUrl }: Pick<Channel, 'handlerUrl'>): AgentKind | undefined =>
  KINDS.get(handlerUrl)
