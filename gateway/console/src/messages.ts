import type { Turn } from './turns.ts'

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
  us: 'Parley',
}

/** Whose part it is to mend it, in words. */
export const causeInWords = (fault: string | null | undefined): string => CAUSES[fault ?? ''] ?? ''
