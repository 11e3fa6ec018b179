import type { Schemas } from '@parley/client'
import { allProviders } from '@parley/shared/providers/registry'

const NUMBER = new Intl.NumberFormat()

const number = (value: number): string => NUMBER.format(value)

/** A message as the log lists it. */
export interface MessageSummary {
  _id: string
  channel: string
  channelId?: number
  thread: string
  phone?: string
  source: string
  state: string
  reason?: string
  fault?: string | null
  due?: string
  waitingFor?: string
  receivedAt: string
  updatedAt: string
}

/** A message with all that happened to it. */
export interface MessageDetail extends MessageSummary {
  requestId: string | null
  message: {
    user?: { name?: string | null; phone?: string | null; email?: string | null }
    answer?: { message?: string | null }
    input?: string | null
    audio?: string | null
  }
  answer?: { message?: string | null; functions?: unknown[] | null }
  timeline: { at: string; state: string; reason?: string }[]
  sends: {
    id: string
    content: { kind: string; [field: string]: unknown }
    state: string
    providerId?: string
  }[]
  attempts: { at: string; step: string; outcome: string; code?: string; ms: number }[]
  transcript?: string
  turns?: Turn[]
}

export const STATES = [
  ...['received', 'handled', 'sending', 'sent', 'delivered', 'read', 'done', 'failed', 'dead', 'unrouted'],
] as const
/** What can be run again. */
export const REPLAYABLE: readonly string[] = ['dead', 'failed', 'unrouted']
export const IN_FLIGHT: readonly string[] = ['received', 'handled', 'sending']

const CAUSES: Record<string, string> = {
  caller: 'the caller',
  channel: 'the channel’s settings',
  provider: 'the provider',
  recipient: 'the person’s own choice',
  us: 'Parley',
}

/** Whose part it is to mend it, in words. */
export const causeInWords = (fault: string | null | undefined): string => CAUSES[fault ?? ''] ?? ''

/** What to do about a message that was given up, by the code of its last attempt that failed. */
export function adviceOn({ attempts, state }: MessageDetail): string | undefined {
  const code = attempts.findLast(({ outcome }) => outcome !== 'accepted')?.code
  if (code === undefined || !REPLAYABLE.includes(state)) return undefined
  return allProviders()
    .map(({ outbound }) => outbound.advice?.[code])
    .find((text) => text !== undefined)
}

/** What a model answered at once, and what came of the tools that it called. */
export type Turn = Schemas['Turn']

/** What a message took of the model, in words; the turns of one answer. */
export function costOf(turns: readonly Turn[]): string {
  const sum = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0)
  const tokens = `${number(sum(({ inputTokens }) => inputTokens))} tokens in, ${number(sum(({ outputTokens }) => outputTokens))} out`
  const models = [...new Set(turns.map(({ model }) => model))].join(', ')
  const turnCount = turns.length === 1 ? '1 turn' : `${turns.length} turns`
  return [models, turnCount, tokens, `${number(Math.round(sum(({ ms }) => ms)))} ms`].join(' · ')
}
