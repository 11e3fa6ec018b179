import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { FAULTS, type MessageRecord, type MessageState } from '../message/message-record.ts'
import { ranAgainAt } from '../message/progress.ts'

const CALL_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const MODEL_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const ACCEPTED_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 21_600]
const WAIT_SECONDS = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800]

/** Counters that are increased where things happen. */
export interface Metrics {
  /** A message came to an end. */
  settled(state: string, fault: string | undefined): void
  /** A send waited so long for the rate of its number. */
  waited(seconds: number): void
  /** A call to what a workspace configured ended with this status, or with this failure. */
  called(kind: string, outcome: string, seconds: number): void
  /** All sends of a message left, so many seconds after it was accepted. */
  sent(seconds: number): void
  /** A message got there, so many seconds after it was accepted. */
  delivered(seconds: number): void
  /** A call of a model ended; the provider is one of four, the tokens those of its answer. */
  modelCalled(call: {
    provider: string
    outcome: 'answered' | 'failed'
    seconds: number
    inputTokens: number
    outputTokens: number
    cachedTokens?: number
  }): void
  /** The circuit breaker of an endpoint opened. */
  breakerOpened(): void
  /** So many statuses of a provider were of no send of ours. */
  statusUnmatched(count: number): void
}

export function createMetrics(registry: Registry): Metrics {
  const registers = [registry]
  const settled = new Counter({
    name: 'parley_messages_settled_total',
    help: 'Messages that came to an end, by state and whose fault it was',
    labelNames: ['state', 'fault'],
    registers,
  })
  // The increase of a series that begins with its first burst is 0, and no alert would see that.
  for (const fault of FAULTS) settled.inc({ state: 'dead', fault }, 0)
  const waits = new Histogram({
    name: 'parley_send_rate_wait_seconds',
    help: 'How long sends waited for the rate of their number',
    buckets: WAIT_SECONDS,
    registers,
  })
  const calls = new Histogram({
    name: 'http_client_request_duration_seconds',
    help: 'Calls to handlers, functions and providers',
    labelNames: ['kind', 'outcome'],
    buckets: CALL_SECONDS,
    registers,
  })
  const sent = new Histogram({
    name: 'parley_message_accepted_to_sent_seconds',
    help: 'From when a message was accepted until all of its sends had left',
    buckets: ACCEPTED_SECONDS,
    registers,
  })
  const delivered = new Histogram({
    name: 'parley_message_accepted_to_delivered_seconds',
    help: 'From when a message was accepted until all of its sends had been delivered',
    buckets: ACCEPTED_SECONDS,
    registers,
  })
  const models = new Histogram({
    name: 'parley_model_call_seconds',
    help: 'How long calls of language models took, by provider and whether they were answered',
    labelNames: ['provider', 'outcome'],
    buckets: MODEL_SECONDS,
    registers,
  })
  const tokens = new Counter({
    name: 'parley_model_tokens_total',
    help: 'Tokens that language models read and wrote, and of the read ones those that were cached, by provider',
    labelNames: ['provider', 'direction'],
    registers,
  })
  const opened = new Counter({
    name: 'parley_circuit_breaker_opened_total',
    help: 'How often an endpoint was left alone because it did not answer',
    registers,
  })
  const unmatched = new Counter({
    name: 'parley_statuses_unmatched_total',
    help: 'Statuses of providers that were of no send',
    registers,
  })
  return {
    settled: (state, fault = 'none') => settled.inc({ state, fault }),
    waited: (seconds) => waits.observe(seconds),
    called: (kind, outcome, seconds) => calls.observe({ kind, outcome }, seconds),
    sent: (seconds) => sent.observe(seconds),
    delivered: (seconds) => delivered.observe(seconds),
    modelCalled: ({ provider, outcome, seconds, inputTokens, outputTokens, cachedTokens = 0 }) => {
      models.observe({ provider, outcome }, seconds)
      tokens.inc({ provider, direction: 'input' }, inputTokens)
      tokens.inc({ provider, direction: 'output' }, outputTokens)
      tokens.inc({ provider, direction: 'cached' }, cachedTokens)
    },
    breakerOpened: () => opened.inc(),
    statusUnmatched: (count) => unmatched.inc(count),
  }
}

/** Shows how many endpoints this instance leaves alone. */
export function showBreakers(registry: Registry, endpoints: { open(): number }): void {
  new Gauge({
    name: 'parley_circuit_breakers_open',
    help: 'Endpoints that this instance leaves alone because they did not answer',
    registers: [registry],
    collect() {
      this.set(endpoints.open())
    },
  })
}

const SENT = new Set<MessageState>(['sent', 'delivered', 'read', 'done'])
const DELIVERED = new Set<MessageState>(['delivered', 'read'])

/**
 * Observes how long a message took when it goes from one state to another. One that was run again is left out: when
 * that was asked for says nothing about us.
 */
export function observeLatency(
  metrics: Pick<Metrics, 'sent' | 'delivered'>,
  record: Pick<MessageRecord, 'timeline' | 'receivedAt' | 'acceptedAt'>,
  { from, to, at }: { from: MessageState; to: MessageState; at: number },
): void {
  if (ranAgainAt(record) > 0) return
  const seconds = Math.max(0, at - (record.acceptedAt ?? record.receivedAt).getTime()) / 1_000
  if (SENT.has(to) && !SENT.has(from)) metrics.sent(seconds)
  if (DELIVERED.has(to) && !DELIVERED.has(from)) metrics.delivered(seconds)
}
