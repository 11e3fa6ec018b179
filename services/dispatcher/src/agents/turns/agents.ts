import type { WebhookMessage } from '@parley/shared/message'
import { usualProvider } from '@parley/shared/providers/registry'
import pLimit from 'p-limit'
import type { Channel } from '../../channels/channels.ts'
import type { HandOffCallback } from '../../channels/hand-off.ts'
import type { ShowTyping } from '../../channels/typing.ts'
import { createReadQuoted, type ReadQuoted } from '../../conversations/quoted-messages.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import type { Agent, AgentKind } from '../agent.ts'
import type { Deltas } from '../deltas.ts'
import type { LoadAgent } from '../load-agent.ts'
import type { Hearing } from '../model/hearing.ts'
import type { CallSlots, MediaKind } from '../model/media-slots.ts'
import type { AskSeeing } from '../model/seeing.ts'
import type { ModelChoice, ModelClient } from '../model-client.ts'
import type { OpenToolbox } from '../tools/open-toolbox.ts'
import type { ToolImages } from '../tools/tool-images.ts'
import type { Usage } from '../usage/usage.ts'
import { createGather, type Gather } from './gathering.ts'
import { createReadExchanges, createReadHistory, type ReadHistory } from './history.ts'
import { createModelCalls, type ModelCalls } from './model-calls.ts'
import { createSummarise, type Summarise } from './summarise.ts'

/** The parts of an agent that others build. */
export interface AgentParts {
  loadAgent: LoadAgent
  openToolbox: OpenToolbox
  /** The models of an agent, the first choice before its fallbacks. */
  choicesOf(agent: Agent): { kind: 'choices'; choices: ModelChoice[] } | { kind: 'missing'; reason: string }
  /** The system text, and the facts that are given as data. */
  promptOf(options: { agent: Agent; channel: Channel; message: WebhookMessage; now: Date }): {
    system: string
    data: object
  }
  model: ModelClient
  /** Asks the model, with the images that came with messages. */
  askSeeing: AskSeeing
  hearing: Hearing
  /** The images that the tools of messages gave besides text. */
  toolImages: Pick<ToolImages, 'get'>
  /** For what calls have in memory, shared with whatever else of this process hears. */
  mediaSlots: Record<MediaKind, CallSlots>
  usage: Usage
  /** Shows the person that an answer is being made. */
  showTyping: ShowTyping
  /** Tells the channel's `config.handOffUrl` that a person is to take over. */
  notifyHandOff: HandOffCallback
  /** Where what a model says goes while it says it; nowhere when left out. */
  deltas?: Deltas
  /** Gives the thread to a person. Idempotent; rejects with `unavailable`. */
  handOff?(options: { record: MessageRecord; channel: Channel; reason: string }): Promise<void>
}

/** All that working messages by agents takes. */
export interface Agents extends AgentParts {
  calls: ModelCalls
  readHistory: ReadHistory
  summarise: Summarise
  readQuoted: ReadQuoted
  gather: Gather
}

/** The leases are renewed by the same connections, so that reads for thousands of messages may not take them all. */
const READS_AT_ONCE = 16

/** Puts the parts together with what this process has of its own: the calls in flight and the store. */
export function createAgents(
  options: AgentParts & { collections: Pick<Collections, 'messages' | 'threads'> },
): Agents {
  const { collections, ...parts } = options
  const reads = pLimit(READS_AT_ONCE)
  const gather = createGather(collections)
  const readQuoted = createReadQuoted(collections)
  const readExchanges = createReadExchanges(collections, readQuoted)
  const { model, usage } = parts
  return {
    ...parts,
    calls: createModelCalls(parts.mediaSlots),
    readHistory: createReadHistory(collections, readExchanges),
    summarise: createSummarise({ threads: collections.threads, readExchanges, model, usage }),
    readQuoted,
    gather: (record, limits) => reads(gather, record, limits),
  }
}

/** A channel that is not configured, for an assistant that works without one: it formats for the usual provider, and sets nothing. */
export function assistantChannel(options: {
  workspace: number
  assistantId: number
  kind: AgentKind
}): Channel {
  const { workspace, assistantId, kind } = options
  const { name } = usualProvider()
  return {
    _id: 0,
    workspace,
    hook: name,
    callback: name,
    handlerUrl: `native:agents/${kind.type}`,
    config: { assistantId },
  }
}
