import { STATUS_QUEUE } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { Collections } from '../database.ts'
import type { KeptChannel } from '../keep-channel.ts'

const CHECK_MS = 1_000
const REQUEST_MS = 2_000
/** A live copy says so each second. One that sleeps may hold news until the broker has noticed, after its heartbeats. */
const SILENT_MS = 3_000
const NOTICED_MS = 20_000

/** Knows since when news of sends would have reached us without a break. */
export interface StatusWatch {
  /** Since when (milliseconds since the epoch); undefined while the way is broken or statuses are still queued. */
  clearSince(): number | undefined
  close(): void
}

/**
 * Checks each second the way that a provider's news takes: gateway, webhook, broker, a consumer that has emptied
 * the status queue, and no copy that may sleep with news in its hands. Silence says something only while that way is whole.
 */
export function watchStatuses(options: {
  kept: Pick<KeptChannel, 'current'>
  gatewayUrl: string
  webhookUrl: string
  copies: Pick<Collections['copies'], 'countDocuments'>
  log: Log
  now?: () => number
}): StatusWatch {
  const { kept, gatewayUrl, webhookUrl, copies, log, now = Date.now } = options
  let since: number | undefined
  let stopped = false
  const checks = async () => {
    const { consumerCount, messageCount } = (await kept.current()?.checkQueue(STATUS_QUEUE)) ?? {}
    return (
      consumerCount !== undefined &&
      consumerCount > 0 &&
      messageCount === 0 &&
      (await copies.countDocuments(SLEEPING, { maxTimeMS: REQUEST_MS })) === 0 &&
      (await answers(`${gatewayUrl}/health/live`)) &&
      (await answers(`${webhookUrl}/health/ready`))
    )
  }
  const check = async () => {
    const clear = await checks().catch(() => false)
    if (!clear && since !== undefined) log.warn('news of sends may not arrive at the moment')
    since = clear ? (since ?? now()) : undefined
  }
  let timer: NodeJS.Timeout | undefined
  const loop = async () => {
    await check()
    if (!stopped) timer = setTimeout(() => void loop(), CHECK_MS)
  }
  void loop()
  return {
    clearSince: () => since,
    close() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

const SLEEPING = {
  $expr: {
    $and: [
      { $lt: ['$seenAt', { $subtract: ['$$NOW', SILENT_MS] }] },
      { $gt: ['$seenAt', { $subtract: ['$$NOW', NOTICED_MS] }] },
    ],
  },
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
  await response.body?.cancel()
  return response.ok
}
