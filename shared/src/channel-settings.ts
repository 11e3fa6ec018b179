import type { JsonObject } from './json-object.ts'

interface NumberSetting {
  min: number
  max: number
  /** Where the channel does not say; 0 where something else decides then. */
  default: number
  description: string
}

/** The numbers in a channel's `config` that decide how its messages are answered. */
export const CHANNEL_NUMBERS = {
  maxTurns: {
    min: 1,
    max: 32,
    default: 8,
    description: 'How often the model may answer for one message',
  },
  turnTimeoutSeconds: {
    min: 1,
    max: 300,
    default: 60,
    description: 'How long the model may take for one answer, its fallbacks included',
  },
  messageTimeoutSeconds: {
    min: 1,
    max: 3_600,
    default: 300,
    description: 'How long an agent may work at one message',
  },
  gatherMs: {
    min: 0,
    max: 30_000,
    default: 0,
    description: 'How long a message waits for the next of its thread, so that both get one answer',
  },
  historyTokens: {
    min: 0,
    max: 200_000,
    default: 8_000,
    description: 'How much of the conversation the model is given, in tokens of four characters',
  },
  historyLimit: {
    min: 0,
    max: 200,
    default: 50,
    description: 'How many earlier messages of the conversation the model is given at most',
  },
  handlerTimeoutSeconds: {
    min: 1,
    max: 120,
    default: 10,
    description: 'How long a handler over HTTP may take to answer',
  },
  echoTakeOverMinutes: {
    min: 0,
    max: 10_080,
    default: 30,
    description:
      'How long a person has a thread after the business wrote in the app of the provider; with 0 until it is given back',
  },
  messagesPerSecond: {
    min: 1,
    max: 1_000,
    default: 0,
    description: 'How many messages its number may send and get in a second',
  },
} as const satisfies Record<string, NumberSetting>

export type ChannelNumber = keyof typeof CHANNEL_NUMBERS

/** A number in a channel's `config`, within its bounds; its default where it is not there, or is no number. */
export function channelNumber(config: JsonObject, name: ChannelNumber): number {
  const { min, max, default: otherwise } = CHANNEL_NUMBERS[name]
  const value = config[name]
  if (typeof value !== 'number' || !Number.isFinite(value)) return otherwise
  return Math.min(Math.max(value, min), max)
}
