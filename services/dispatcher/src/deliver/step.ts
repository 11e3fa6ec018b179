import type { WebhookMessage } from '@parley/shared/message'
import type { Agent } from '../agents/agent.ts'
import type { ModelChoice, ModelResult } from '../agents/model-client.ts'
import type { Gathering } from '../agents/turns/gathering.ts'
import type { ModelCallState } from '../agents/turns/model-calls.ts'
import type { Channel } from '../channels/channels.ts'
import type { Admission } from '../channels/endpoints/endpoints.ts'
import type { Busy, Handled } from '../channels/handle.ts'
import type { Attempt, Send, WaitingFor } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import type { MessageEnd } from '../message/progress.ts'
import type { Times } from '../times.ts'

/** The sends to make, and the answer where a handler made it. */
export interface Planned {
  channel: Channel
  /** With the answer in force, whoever made it. */
  message: WebhookMessage
  sends: Send[]
  answer?: string
}

type Failure = Exclude<Outcome, { kind: 'accepted' }>
type EndpointWait = Extract<Admission, { kind: 'wait' }>
export type EndedCall = Extract<ModelCallState, { kind: 'ended' }>
type NewTurn = Extract<ModelResult, { kind: 'answered' }>['turn']

/** The next step of a message. Times are in milliseconds since the epoch. */
export type Step = (
  | { kind: 'wait'; until: number; for: WaitingFor; planned?: Planned | undefined }
  /** It is read again then: others write what it waits for. */
  | { kind: 'readAgain'; at: number; for: WaitingFor }
  /** Others of its thread pass it until then, and it may be taken back. */
  | { kind: 'schedule'; until: number }
  /** From now on it can't be taken back. */
  | { kind: 'begin' }
  | { kind: 'waitForModel'; settled: Promise<void> }
  | { kind: 'waitForEndpoint'; admission: EndpointWait }
  | { kind: 'findChannel' }
  | { kind: 'lookUpPerson' }
  | { kind: 'lookUpGathering' }
  | { kind: 'loadAgent' }
  | { kind: 'lookUpStopped' }
  | { kind: 'checkFunctions'; planned: Planned }
  | { kind: 'askHandler' }
  | { kind: 'transcribe' }
  | { kind: 'askModel' }
  | { kind: 'plan'; planned: Planned }
  | { kind: 'storeTurn'; turn: NewTurn }
  | { kind: 'storeTranscript'; text: string }
  /** Another try of a model, at once where it is not due later. */
  | { kind: 'retryModel'; attempt: Attempt; tries: number; due: number | undefined }
  | { kind: 'send'; index: number }
  | { kind: 'call'; index: number }
  /** Its end is decided: the person is told so by the channel's fallback message, unless it is silent. */
  | { kind: 'giveUp'; reason: string; attempt?: Attempt; isSilent?: boolean }
  | { kind: 'fail'; step: string; outcome: Failure; ms: number; planned?: Planned | undefined }
  /** A send that the provider later reported as failed is made again. */
  | { kind: 'resume' }
  /** `isMerged`: whatever statuses say of its sends meanwhile. */
  | { kind: 'end'; end: MessageEnd; answer?: string | undefined; isMerged?: true }
) & {
  /** The call of a model whose result is taken by the step. */
  takes?: string | undefined
}

export type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

/** Why the functions of a plan can't be called, as far as the first that can't. */
type FunctionCheck = { kind: 'fine' } | { kind: 'failed'; id: string; failure: Failure; ms: number }

/** The handler's answer, and the time that it took in milliseconds. */
type HandlerResult = (Handled | Busy | EndpointWait) & { ms: number }

export type LoadedAgent =
  | { kind: 'loaded'; agent: Agent; choices: ModelChoice[]; canHear: boolean }
  | { kind: 'missing'; reason: string }

/** The results that earlier steps have looked up; undefined ones are not known yet. */
export interface LookedUp {
  /** Null where there is none. */
  channel?: Channel | null
  isWithPerson?: boolean
  handled?: HandlerResult | undefined
  check?: FunctionCheck | undefined
  /** The sends are decided, though they are not stored yet. */
  isPlanned?: boolean
  gathering?: Gathering
  agent?: LoadedAgent | undefined
  /** Why a budget does not allow a call. */
  budget?: string | undefined
  /** True if this message tells the person that a budget stops them. */
  isFirstStopped?: boolean
}

/** Facts about a message beside its record. */
export interface Facts extends LookedUp {
  now: number
  times: Pick<Times, 'lookUpFor' | 'lookUpAgain'>
  /** As it reads now, with the answer in force. */
  message: WebhookMessage
  /** The longest text that the channel sends in one. */
  maxText?: number | undefined
  /** The call of the model for its next turn, and the one that hears its audio. */
  turnCall?: ModelCallState | undefined
  audioCall?: ModelCallState | undefined
  /** True if there are agents that work in turns. */
  hasAgents: boolean
}
