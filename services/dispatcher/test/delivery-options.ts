import { TEST_TIMES } from '@parley/local/testing/test-times'
import { createLog } from '@parley/shared/log'
import { Registry } from 'prom-client'
import type { Callback } from '../src/channels/callback.ts'
import { createEndpoints } from '../src/channels/endpoints/endpoints.ts'
import type { DeliverOptions } from '../src/deliver/message-run.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { noConsent } from './no-consent.ts'
import { noThreads } from './no-threads.ts'
import { noTraffic } from './no-traffic.ts'

const never = async () => {
  throw new Error('the message carries its answer, which is a text')
}

/** Options to deliver a message with its answer: a WhatsApp channel, its callback, and the test's own options. */
export function deliveryOptions(
  callback: Callback,
  own: Pick<DeliverOptions, 'read'> & Partial<DeliverOptions>,
): DeliverOptions {
  return {
    metrics: createMetrics(new Registry()),
    traffic: noTraffic,
    channels: {
      find: async (workspace) => ({
        _id: 1,
        workspace,
        hook: 'whatsapp',
        callback: 'whatsapp',
        handlerUrl: 'native:agents/echo',
        config: {},
      }),
    },
    handle: never,
    callbackOf: () => callback,
    functions: { check: never, open: never },
    threads: noThreads,
    suppressions: noConsent.suppressions,
    recordConsent: noConsent.recordConsent,
    readQuoted: async () => new Map(),
    knownTemplates: { find: async () => [] },
    isScheduleFull: async () => false,
    endpoints: createEndpoints({ now: Date.now, opened: () => {} }),
    submit: never,
    sendRateLimit: { slot: never, anotherSlot: never, count: never, slowDown: never },
    statuses: { clearSince: () => 0, consumedUntil: Date.now },
    log: createLog({ service: 'test', level: 'silent' }),
    uncertainWindow: 60_000,
    retentionMs: 60_000,
    times: TEST_TIMES,
    now: Date.now,
    ...own,
  }
}
