import type { IncomingMessage } from 'node:http'
import type { PendingResponse, ReceivedRequest } from '@parley/shared/exchange'
import { FairSlots, type SlotLimits } from '@parley/shared/fair-slots'
import { Problem, sendProblem } from '@parley/shared/problem'
import { abandon, type CallerClass, classOf } from './forward.ts'
import { hasArrived } from './upstream-client.ts'

// Small enough that bodies which never end leave half of the upstream connections of their class to others. A busy
// workspace may have as many as it may have requests at a service: its bodies come late when it is busy.
const LIMITS: Record<CallerClass, SlotLimits> = {
  anonymous: { of: 'unfinished bodies', total: 128, each: [32], protectedMs: 0 },
  authenticated: { of: 'unfinished bodies', total: 256, protectedMs: 0 },
}
/** Bytes that have to arrive in each third of the time that a body may take. */
const LEAST_PROGRESS = 1_024
const LOOKS = 3

/** Calls `proceed` when the body is there; throws the problem of one that can't be waited for. */
export type AwaitBody = (req: ReceivedRequest, res: PendingResponse, proceed: () => void) => void

/**
 * Lets a request go on when its body has arrived, or as much of it as the connection buffers (64 KiB): until then it
 * takes no connection to a service. Refuses with `rate_limited` a caller with too many unfinished bodies; when there are
 * too many in all, the workspace or address with the most loses its oldest, also where all have one. Answers
 * `body_timeout` and closes the connection when a body takes longer than `timeoutMs`, unless it is an upload, or when less
 * than 1 KiB of it arrives in a third of that time.
 */
export function awaitBody({ timeoutMs }: { timeoutMs: number }): AwaitBody {
  const unfinished = {
    anonymous: new FairSlots(LIMITS.anonymous),
    authenticated: new FairSlots(LIMITS.authenticated),
  }
  return (req, res, proceed) => {
    // A caller may hang up while its token is looked up: neither the body nor the response closes a second time.
    if (hasArrived(req) || res.destroyed) return proceed()
    const giveUp = () => refuse(req, res)
    const { name, key } = classOf(res)
    const end = unfinished[name].take(key, giveUp)
    if (end === undefined) throw unfinished[name].problem(unfinished[name].excess(key))
    const looks = res.locals.isUpload === true ? Number.POSITIVE_INFINITY : LOOKS
    const watch = watchProgress(req, { everyMs: timeoutMs / LOOKS, looks, giveUp })
    const stop = () => {
      clearInterval(watch)
      end()
    }
    for (const event of ['end', 'close'] as const) req.once(event, stop)
    res.once('close', stop)
    whenBuffered(req, () => {
      if (!res.headersSent) proceed()
    })
  }
}

function whenBuffered(req: IncomingMessage, proceed: () => void): void {
  const look = () => {
    if (!hasArrived(req) && !isFull(req)) return
    req.removeListener('readable', look)
    proceed()
  }
  req.on('readable', look)
  req.on('error', () => undefined)
}

const isFull = (req: IncomingMessage): boolean => req.readableLength >= req.readableHighWaterMark

/** A body that waits for its service, whole or because that reads slowly, is not a slow body of its caller. */
function watchProgress(
  req: IncomingMessage,
  { everyMs, looks, giveUp }: { everyMs: number; looks: number; giveUp(): void },
): NodeJS.Timeout {
  let left = looks
  let before = req.socket.bytesRead
  const watch = setInterval(() => {
    const arrived = req.socket.bytesRead - before
    before = req.socket.bytesRead
    if (req.complete || isFull(req) || (arrived >= LEAST_PROGRESS && --left > 0)) return
    clearInterval(watch)
    giveUp()
  }, everyMs)
  return watch
}

/** The rest of the body is not waited for, so the connection can't be used again. */
function refuse(req: ReceivedRequest, res: PendingResponse): void {
  if (res.headersSent || res.destroyed) return void req.socket.destroy()
  res.setHeader('connection', 'close')
  sendProblem(req, res, new Problem('body_timeout'))
  abandon(res)
}
