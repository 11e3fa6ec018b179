import type { Schemas } from '@parley/client'
import type { ExplainedMessage } from '@parley/shared/explain-message'
import { count } from './format.ts'
import { t } from './language.ts'
import { wordOf } from './words.ts'

/** A message as the log lists it. */
export interface MessageSummary {
  _id: string
  channel: string
  channelId?: number
  thread: string
  phone?: string
  addresses?: string[]
  source: string
  state: string
  reason?: string
  fault?: string | null
  due?: string
  waitingFor?: string
  waiting?: NonNullable<ExplainedMessage['waiting']> & { message?: string }
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
    failure?: { code: string; reason: string }
  }[]
  attempts: { at: string; step: string; outcome: string; code?: string; error?: string; ms: number }[]
  transcript?: string
  turns?: Turn[]
}

export const STATES = [
  ...['received', 'handled', 'sending', 'sent', 'delivered', 'read', 'done', 'failed', 'dead', 'unrouted'],
] as const
/** States of messages that can be replayed. */
export const REPLAYABLE: readonly string[] = ['dead', 'failed', 'unrouted']
export const IN_FLIGHT: readonly string[] = ['received', 'handled', 'sending']

const CAUSES: Record<string, string> = {
  caller: t('the caller'),
  channel: t('the channel’s settings'),
  provider: t('the provider'),
  recipient: t('the person’s own choice'),
  us: 'Parley',
}

/** Whose part it is to mend it, in words. */
export const causeInWords = (fault: string | null | undefined): string => CAUSES[fault ?? ''] ?? ''

/** Returns the condition that a message waits for, in words. */
export const waitInWords = (reason: string): string =>
  WAITS[reason] ?? t('for {what}', { what: wordOf(reason) })

const WAITS: Record<string, string> = {
  retry: t('for their next try'),
  rate: t('for their number, which sends as fast as it may'),
  person_rate: t('for the provider’s rate for one person'),
  circuit_breaker: t('for an endpoint that does not answer'),
  host: t('for other calls to the same host'),
  status: t('for the status of an uncertain send'),
  configuration: t('for a channel or an action'),
  server: t('for a server that is unavailable'),
  model: t('for a language model'),
  gathering: t('for more of the same conversation'),
  schedule: t('for the time at which they are to be sent'),
  template: t('for a template that is paused'),
  answer: t('for an answer that is on its way'),
  turn: t('for the turn of the workspace'),
  thread: t('for those before them in their conversation'),
}

/** One answer of a model, with the results of the tools that it called. */
export type Turn = Schemas['Turn']

/** Returns the model usage of a message in words, as the sum over the turns of one answer. */
export function costOf(turns: readonly Turn[]): string {
  const sum = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0)
  const tokens = t('{input} tokens in, {output} out', {
    input: count(sum(({ inputTokens }) => inputTokens)),
    output: count(sum(({ outputTokens }) => outputTokens)),
  })
  const models = [...new Set(turns.map(({ model }) => model))].join(', ')
  const turnCount = t('{count, plural, one {# turn} other {# turns}}', { count: turns.length })
  return [models, turnCount, tokens, `${count(Math.round(sum(({ ms }) => ms)))} ms`].join(' · ')
}
