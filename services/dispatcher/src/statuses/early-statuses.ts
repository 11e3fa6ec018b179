import { createBackOff, every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { messageStatus } from '@parley/shared/message-status'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Metrics } from '../metrics/metrics.ts'
import type { EarlyStatus } from '../store/collections.ts'
import { knownStatus } from './read-status.ts'
import { applyKnown, type StatusOptions } from './work-statuses.ts'

const LOOK = { leastMs: 1_000, mostMs: 4_000 }
const AT_ONCE = 500
/** How long one waits after each look; after the last look it is of no send of ours. */
const DELAYS_MS = [5_000, 30_000]

interface EarlyOptions extends StatusOptions {
  metrics: StatusOptions['metrics'] & Pick<Metrics, 'statusUnmatched'>
}

/**
 * Looks again at statuses that came before the provider's id of their send was stored, in every instance: what two apply
 * is the same.
 */
export function startEarlyStatuses(options: EarlyOptions & { ready: Promise<unknown>; log: Log }): {
  stop(): Promise<void>
} {
  const { ready, log } = options
  const backOff = createBackOff(LOOK)
  return every({
    pauseMs: backOff.pauseMs,
    run: async () => {
      await ready
      await backOff.note(() => workEarlyStatuses(options, Date.now()))
    },
    failed: ({ message: reason }) => log.debug({ reason }, 'early statuses not applied'),
  })
}

/** Resolves with whether some were due. */
async function workEarlyStatuses(options: EarlyOptions, now: number): Promise<boolean> {
  const { collections, metrics } = options
  const { earlyStatuses } = collections
  const waiting = await earlyStatuses
    .find({ due: { $lte: new Date(now) } })
    .sort({ due: 1 })
    .limit(AT_ONCE)
    .toArray()
  if (waiting.length === 0) return false
  const left = await applyKnown(
    options,
    waiting.flatMap((one) => statusIn(one) ?? []),
  )
  const unknown = new Set(left.map(({ id }) => id))
  const isOver = ({ _id, tries }: EarlyStatus) => !unknown.has(_id) || tries >= DELAYS_MS.length
  const updates = waiting.map((one) => {
    const filter = { _id: one._id }
    if (isOver(one)) return { deleteOne: { filter } }
    const due = new Date(now + (DELAYS_MS[one.tries] ?? 0))
    return { updateOne: { filter, update: { $set: { tries: one.tries + 1, due } } } }
  })
  await earlyStatuses.bulkWrite(updates)
  metrics.statusUnmatched(waiting.filter((one) => unknown.has(one._id) && isOver(one)).length)
  return true
}

function statusIn({ status, source }: EarlyStatus) {
  const { data } = messageStatus.safeParse(jsonOrUndefined(status))
  return data && knownStatus(data, source)
}
