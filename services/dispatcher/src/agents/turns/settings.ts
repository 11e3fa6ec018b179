import { channelNumber } from '@parley/shared/channel-settings'
import type { JsonObject } from '@parley/shared/json-object'

/** How a channel wants its messages worked by an agent; times in milliseconds. */
export interface TurnSettings {
  maxTurns: number
  turnMs: number
  messageMs: number
  gatherMs: number
  historyTokens: number
  historyLimit: number
  /** What the person gets where a bound is met; empty for nothing. */
  fallbackMessage: string
  /** Whether what a model says is also passed on while it says it. */
  streamsTokens: boolean
}

export function turnSettingsOf(config: JsonObject): TurnSettings {
  const { fallbackMessage, streamResponseBy } = config
  return {
    maxTurns: Math.floor(channelNumber(config, 'maxTurns')),
    turnMs: channelNumber(config, 'turnTimeoutSeconds') * 1_000,
    messageMs: channelNumber(config, 'messageTimeoutSeconds') * 1_000,
    gatherMs: channelNumber(config, 'gatherMs'),
    historyTokens: channelNumber(config, 'historyTokens'),
    historyLimit: Math.floor(channelNumber(config, 'historyLimit')),
    fallbackMessage: typeof fallbackMessage === 'string' ? fallbackMessage : '',
    streamsTokens: streamResponseBy === 'token',
  }
}
