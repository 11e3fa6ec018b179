import { channelNumber } from '@parley/shared/channel-settings'
import type { JsonObject } from '@parley/shared/json-object'
import type { MessageRecord } from '../../message/message-record.ts'
import { ranAgainAt } from '../../message/progress.ts'

/** The name of a try of a model among the attempts of a message. */
export const MODEL_STEP = 'model'
/** Over all runs of a message: each may have as many as its channel allows. */
const MOST_TURNS = 64

type Worked = Pick<MessageRecord, 'turns' | 'attempts' | 'timeline'>

/** Why a message may not go on to a further turn; undefined when it may. */
export function boundReached(
  record: Worked,
  { settings, now }: { settings: TurnSettings; now: number },
): string | undefined {
  const all = record.turns?.length ?? 0
  const ofRun = turnsOfRun(record)
  if (ofRun >= settings.maxTurns || all >= MOST_TURNS)
    return `The agent did not come to an end within ${ofRun} turns (maxTurns).`
  return timeIsOver(record, { settings, now })
}

/** Why an agent may do nothing more for a message; undefined while it has time. */
export function timeIsOver(
  record: Worked,
  { settings: { messageMs }, now }: { settings: TurnSettings; now: number },
): string | undefined {
  if (now < deadlineOf(record, { messageMs, now })) return undefined
  return `The agent did not come to an end within ${messageMs / 1_000} seconds (messageTimeoutSeconds).`
}

/**
 * Until when the agent may work at the message, in milliseconds since the epoch. Time counts from the first turn or try
 * that is stored of this run: what was waited before, behind others or for an instance, does not count.
 */
export function deadlineOf(record: Worked, { messageMs, now }: { messageMs: number; now: number }): number {
  const since = ranAgainAt(record)
  const begun = [
    ...(record.turns ?? []).map(({ at, ms }) => ({ at: at.getTime(), ms })),
    ...record.attempts.flatMap(({ at, ms, step }) => (step === MODEL_STEP ? { at: at.getTime(), ms } : [])),
  ].filter(({ at }) => at >= since)
  return Math.min(now, ...begun.map(({ at, ms }) => at - ms)) + messageMs
}

/** Returns the current time for the model: the same in all turns of a run, so that their prompts begin alike. */
export function clockOf(record: Worked, now: number): Date {
  const since = ranAgainAt(record)
  const first = record.turns?.find(({ at }) => at.getTime() >= since)
  return first?.at ?? new Date(now)
}

function turnsOfRun(record: Worked): number {
  const since = ranAgainAt(record)
  return (record.turns ?? []).filter(({ at }) => at.getTime() >= since).length
}

/** How a channel wants its messages worked by an agent; times in milliseconds. */
interface TurnSettings {
  maxTurns: number
  turnMs: number
  messageMs: number
  gatherMs: number
  historyTokens: number
  historyLimit: number
  /** True if messages that fall out of the history are summarised. */
  summarises: boolean
  /** The text that the person gets where a bound is met; empty for nothing. */
  fallbackMessage: string
  /** The text that the person gets when an agent hands over without a text of its own; empty for nothing. */
  handOffMessage: string
  /** True if the thread goes to a person when a message ends without an answer. */
  handsOffOnFailure: boolean
  /** True if the model's text is also passed on while the model produces it. */
  streamsTokens: boolean
}

export function turnSettingsOf(config: JsonObject): TurnSettings {
  const { fallbackMessage, handOffMessage, handOffOnFailure, streamResponseBy } = config
  return {
    maxTurns: Math.floor(channelNumber(config, 'maxTurns')),
    turnMs: channelNumber(config, 'turnTimeoutSeconds') * 1_000,
    messageMs: channelNumber(config, 'messageTimeoutSeconds') * 1_000,
    gatherMs: channelNumber(config, 'gatherMs'),
    historyTokens: channelNumber(config, 'historyTokens'),
    historyLimit: Math.floor(channelNumber(config, 'historyLimit')),
    summarises: config.summarise === true,
    fallbackMessage: typeof fallbackMessage === 'string' ? fallbackMessage : '',
    handOffMessage: typeof handOffMessage === 'string' ? handOffMessage : '',
    handsOffOnFailure: handOffOnFailure === true,
    streamsTokens: streamResponseBy === 'token',
  }
}
