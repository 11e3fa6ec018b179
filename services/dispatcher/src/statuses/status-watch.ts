import { every } from '@parley/shared/every'
import type { Targets } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { STATUS_QUEUES } from '@parley/shared/messaging/topology'
import type { ServiceCalls, Target } from '@parley/shared/service-calls'
import type { Collections } from '../store/collections.ts'
import { noteClosedIntake, noteOpenIntake } from '../store/open-intake.ts'
import type { Times } from '../times.ts'
import { sendMarker } from './status-marker.ts'

const REQUEST_MS = 2_000
/** Longer than a check takes whatever it meets: an instance without one was suspended, and saw nothing. */
const SUSPENDED_MS = 10_000
/** A marker that has not come back by then is sent again: its consumer may not know markers yet. */
const RESEND_MS = 10_000
/** Markers are sent for this long after somebody has asked. */
const ASKED_FOR_MS = 10_000

/** Knows whether a missing status says that a send did not happen. */
interface StatusWatch {
  /** Since when (milliseconds since the epoch) providers could hand in statuses; undefined while they can't. */
  clearSince(): number | undefined
  /** Every status that was queued before then (milliseconds since the epoch) has been applied. */
  consumedUntil(): number
  close(): Promise<void>
}

type Calls = Pick<ServiceCalls, 'call'>

interface QueueMarker {
  /** The last one that was sent; 0 for none. */
  number: number
  sentAt: number
  isBack: boolean
  consumedUntil: number
}

/**
 * Checks again and again that providers can hand in statuses (gateway, webhook, broker), which the instances share, and how
 * far the status queues are consumed: it puts a marker into each, and what was queued before the marker is applied once
 * it has come back. That holds whichever instance consumes, also one that is suspended for a while: then the marker
 * waits as well. No queue has to be empty for it, so a steady flow of statuses delays nothing.
 */
export function watchStatuses(options: {
  instance: string
  publisher: Pick<Publisher, 'publish' | 'isUp'>
  gateways: Targets
  webhooks: Targets
  calls: Calls
  collections: Pick<Collections, 'instances' | 'openIntake'>
  times: Pick<Times, 'statusCheck'>
  log: Log
  now?: () => number
}): StatusWatch {
  const { instance, publisher, gateways, webhooks, calls, collections, times, log, now = Date.now } = options
  const markers: QueueMarker[] = STATUS_QUEUES.map(() => ({
    number: 0,
    sentAt: 0,
    isBack: true,
    consumedUntil: 0,
  }))
  let since: number | undefined
  let checkedAt = now()
  let hasClosed = false
  let askedAt = Number.NEGATIVE_INFINITY
  const wasSuspended = () => now() - checkedAt > SUSPENDED_MS
  const checkIntake = async () => {
    const isWhole =
      (await publisher.isUp()) &&
      (await anyResponds(calls, gateways, '/health/live')) &&
      (await anyResponds(calls, webhooks, '/health/ready'))
    if (wasSuspended()) since = undefined
    checkedAt = now()
    if (!isWhole && since !== undefined) {
      hasClosed = true
      log.warn('delivery statuses are delayed: gateway, webhook or broker is unavailable')
    }
    // A clock that was set back has not reached the time since when it says so.
    since = isWhole ? Math.min(since ?? now(), now()) : undefined
  }
  /** Takes over the open time that others have seen, for a fresh instance but for none that has seen it closed. */
  const shareIntake = async () => {
    if (wasSuspended()) return
    if (since === undefined) return hasClosed ? noteClosedIntake(collections.openIntake) : undefined
    const before = since
    const openMs = await noteOpenIntake(collections.openIntake, now() - before)
    // Anew since then, it was closed meanwhile, or nobody looked here.
    if (!hasClosed && since === before) since = Math.min(before, now() - openMs)
  }
  const checkMarkers = async () => {
    if (now() - askedAt > ASKED_FOR_MS) return
    const found = await collections.instances.findOne({ _id: instance }, { maxTimeMS: REQUEST_MS })
    for (const [queue, marker] of markers.entries()) {
      if (Math.max(marker.sentAt, marker.consumedUntil) > now())
        Object.assign(marker, { sentAt: 0, isBack: true, consumedUntil: 0 })
      if (!marker.isBack && found?.statusMarkers?.[queue] === marker.number) {
        marker.isBack = true
        marker.consumedUntil = marker.sentAt
      }
      if (!(await publisher.isUp()) || !(marker.isBack || now() - marker.sentAt > RESEND_MS)) continue
      Object.assign(marker, { number: marker.number + 1, sentAt: now(), isBack: false })
      sendMarker(publisher, { instance, queue, number: marker.number })
    }
  }
  const loops = [
    every({
      pauseMs: times.statusCheck,
      run: () => Promise.all([checkIntake().catch(() => (since = undefined)), checkMarkers()]),
      failed: ({ message }) => log.debug({ reason: message }, 'status markers not checked'),
    }),
    every({
      pauseMs: times.statusCheck,
      run: shareIntake,
      failed: ({ message }) => log.debug({ reason: message }, 'open intake not noted'),
    }),
  ]
  return {
    clearSince: () => since,
    consumedUntil() {
      askedAt = now()
      return Math.min(...markers.map(({ consumedUntil }) => consumedUntil))
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

/** True if one of the instances responds: the next one, or another when that does not. */
async function anyResponds(calls: Calls, targets: Targets, path: string): Promise<boolean> {
  const first = targets.next()
  if (await responds(calls, first, path)) return true
  targets.suspect(first)
  const other = targets.next()
  return other.host !== first.host && responds(calls, other, path)
}

async function responds(calls: Calls, target: Target, path: string): Promise<boolean> {
  try {
    const response = await calls.call(target, path, { signal: AbortSignal.timeout(REQUEST_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
