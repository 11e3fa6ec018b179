import type { TurnAgent } from '@parley/shared/agents'
import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import type { InternalClient } from '@parley/shared/internal-client'
import type { JsonObject } from '@parley/shared/json-object'
import type { Channel } from '../channels/channels.ts'
import type { IsFirstOfName } from '../conversations/first-of-name.ts'
import type { ActionCredentials } from '../functions/credentials.ts'
import type { Tool } from './toolbox.ts'

/** A kind of built-in agent that works in turns of a model: what it has that others have not. */
export interface AgentKind {
  type: TurnAgent
  /** Its tools beside those of its actions; a kind without them calls nothing. */
  tools?(needed: ToolNeeds, given: { agent: Agent; channel: Channel; thread: string }): readonly Tool[]
  /** A kind that has it works at the thread's task. */
  task?: {
    /** Returns the sections of the system text that describe the work. */
    sections(agent: Agent): string[]
    /** Returns values that people and systems have submitted for it, for the data. */
    data(agent: Agent): JsonObject
  }
}

/** The services that tools without an action reach. */
export interface ToolNeeds {
  configuration: Pick<InternalClient, 'post'>
  isFirstOfName: IsFirstOfName
}

/** The settings and the work of an assistant, read from configuration for one turn; secrets opened only in `configs`. */
export interface Agent {
  workspace: number
  kind: AgentKind
  assistant: {
    _id: number
    name: string
    description: string
    backstory: string
  }
  /** The current step's, else the assistant's. */
  job?: { _id: number; role: string; goal: string; description: string }
  /** Of the assistant, its job and the step's job, in this order, each once, 100 at most. */
  actions: AgentAction[]
  /** The assistant's configs by name, secrets opened. */
  configs: ReadonlyMap<string, JsonObject>
  /** Where the secrets of these configs go, by name; those of the others go wherever their address leads. */
  origins?: ReadonlyMap<string, readonly string[]>
  /** The thread's active task, for a kind that works at it. */
  task?: {
    _id: number
    name: string
    state: JsonObject
    /** The submissions of its steps, by the names of the steps. */
    submitted?: JsonObject
    workflow: { _id: number; name: string; description: string; instructions?: string }
    step?: {
      _id: number
      name: string
      description: string
      instructions: string
      submitWhen: string
      next?: number
    }
    /** The names of the workflow's steps, in its order. */
    steps: string[]
    /** Their ids, in the same order. */
    stepIds?: number[]
  }
  /** The workflows that it may start while there is no active task, for a kind that works at tasks. */
  workflows: { _id: number; name: string; description: string; isDefault: boolean; firstStep?: number }[]
}

export interface AgentAction {
  _id: number
  version: number
  name: string
  description: string
  specType: string
  moduleUrl: string
  spec: string
  /** The missing tools that configuration has already been told of. */
  missing?: readonly string[]
  /** The configs of the action by name (`credentials`), secrets opened. */
  configs: ReadonlyMap<string, JsonObject>
  /** Where their secrets go, as in {@link Agent}. */
  origins?: ReadonlyMap<string, readonly string[]>
}

/** The credentials of an action, and where they go; undefined where it has none. */
export function credentialsIn({ configs, origins }: AgentAction): ActionCredentials | undefined {
  const value = configs.get(CREDENTIALS_CONFIG)
  return value && { value, origins: origins?.get(CREDENTIALS_CONFIG) }
}
