import { call } from './api.ts'
import { t } from './language.ts'

export interface Counts {
  accepted: number
  sent: number
  delivered: number
  read: number
  done: number
  failed: number
  dead: number
  unrouted: number
  /** From accepted to sent, in milliseconds. */
  latency: { p50: number; p99: number } | null
}

/** The response of `GET /rest/messages/traffic`. */
export interface Traffic extends Counts {
  from: string
  by: 'minute' | 'hour'
  periods: (Counts & { at: string })[]
  numbers: { number: string; channels: string[]; sends: number; busiest: number; limit: number }[]
  difference: number
}

/** The response of `GET /rest/messages/waiting`. */
export interface Waiting {
  messages: number
  more: boolean
  groups: {
    for: string
    messages: number
    oldest: { _id: string; thread: string; channel: string; receivedAt: string }
  }[]
}

export const RANGES = [
  {
    name: t('Hour'),
    last: 'hour',
    inLast: t('In the last hour'),
    nothing: t('Nothing has come in this hour'),
  },
  { name: t('Day'), last: 'day', inLast: t('In the last day'), nothing: t('Nothing has come in this day') },
  {
    name: t('Week'),
    last: 'week',
    inLast: t('In the last week'),
    nothing: t('Nothing has come in this week'),
  },
] as const
export type Last = (typeof RANGES)[number]['last']

export const readTraffic = (last: Last, signal: AbortSignal): Promise<Traffic> =>
  call<Traffic>('GET', '/rest/messages/traffic', { query: { last }, signal })

export const readWaiting = (signal: AbortSignal): Promise<Waiting> =>
  call<Waiting>('GET', '/rest/messages/waiting', { signal })
