import type { PendingResponse } from '@parley/shared/exchange'
import { FairSlots, type SlotLimits } from '@parley/shared/fair-slots'
import { Problem } from '@parley/shared/problem'
import { Gauge, type Registry } from 'prom-client'
import { type Callers, type Forgettable, isTouched, type KnownCaller, timesSeen } from './callers.ts'
import { abandon } from './forward.ts'
import { setResponseHeaders } from './outgoing-headers.ts'

/** The event streams that are open at this gateway, each with the caller that it was opened for. */
export interface EventStreams {
  /**
   * Counts a stream until its response closes. Where the gateway takes no more, one of the workspace that has most ends
   * for it. Throws `too_many_streams`, and `unavailable` where there is none to end.
   */
  begin(stream: { token: string; known: KnownCaller; res: PendingResponse }): void
  /** Ends those whose caller a change concerns. */
  forget(changes: readonly Forgettable[]): void
  /** Ends all: what was revoked is not known. */
  forgetAll(): void
  /** Ends all and begins no further ones: the process stops. */
  end(): void
  close(): void
}

const MAX_STREAMS = 5_000
const MAX_OF_TOKEN = 20
const LIMITS: SlotLimits = {
  of: 'event streams',
  total: MAX_STREAMS,
  // Of a workspace, of an account, of a token.
  each: [MAX_STREAMS, MAX_STREAMS, MAX_OF_TOKEN],
  protectedMs: 60_000,
}
/** A stream ends within 2 s of its token, as of a revocation. */
const SWEEP_MS = 500
/** Whoever does not read gets no end. */
const END_MS = 500

interface Stream {
  token: string
  known: KnownCaller
  res: PendingResponse
  isConfirming: boolean
}

/**
 * A request's token is checked when it begins, and a stream lasts longer than that: it is ended here when identity
 * reports a change of its caller, and when its token ends. What identity confirmed is asked again where it runs out.
 */
export function createEventStreams({
  callers,
  registry,
}: {
  callers: Pick<Callers, 'resolve'>
  registry: Registry
}): EventStreams {
  const streams = new Set<Stream>()
  const slots = new FairSlots(LIMITS)
  let isEnding = false
  const endAll = () => {
    for (const { res } of streams) end(res)
  }
  const confirm = async (stream: Stream) => {
    stream.isConfirming = true
    try {
      stream.known = await callers.resolve(stream.token)
      // As a request it would still pass for some seconds, because clocks differ.
      if (hasEnded(stream)) end(stream.res)
      else stream.isConfirming = false
    } catch {
      end(stream.res)
    }
  }
  const sweep = setInterval(() => {
    for (const stream of streams) if (!stream.isConfirming && hasEnded(stream)) void confirm(stream)
  }, SWEEP_MS)
  showOpen(registry, streams)
  return {
    begin({ token, known, res }) {
      // Its response has closed while the token was being looked up, and closes no second time.
      if (res.destroyed) return
      if (isEnding) throw tooMany()
      const { workspace, account } = known.caller
      const key = [workspace._id, account._id, token]
      const release = slots.take(key, () => end(res))
      if (release === undefined)
        throw slots.excess(key) === 'own' ? new Problem('too_many_streams') : tooMany()
      const stream = { token, known, res, isConfirming: false }
      streams.add(stream)
      res.once('close', () => {
        streams.delete(stream)
        release()
      })
    },
    forget(changes) {
      if (changes.length === 0 || streams.size === 0) return
      const seenAt = timesSeen(changes)
      for (const { known, res } of streams) if (isTouched(known, seenAt)) end(res)
    },
    forgetAll: endAll,
    end() {
      isEnding = true
      endAll()
    },
    close: () => clearInterval(sweep),
  }
}

const tooMany = (): Problem => new Problem('unavailable', { detail: 'Too many event streams are open.' })

const hasEnded = ({ known }: Stream): boolean => performance.now() >= known.usableUntil

/**
 * Its reader sees the end of the stream, which is an empty one where the service has not answered yet, and comes back
 * with a token and rights as they are then.
 */
function end(res: PendingResponse): void {
  const isAsked = abandon(res)
  if (!res.headersSent) {
    // A stream that is not on its way could still be sent; one that was answered with a problem has its headers here already.
    if (!isAsked || res.hasHeader('content-type')) return void res.destroy()
    setResponseHeaders(res, { 'content-type': 'text/event-stream; charset=utf-8' })
  }
  res.end()
  setTimeout(() => res.destroy(), END_MS).unref()
}

function showOpen(registry: Registry, streams: ReadonlySet<unknown>): void {
  new Gauge({
    name: 'parley_event_streams',
    help: 'Event streams that are open at this instance',
    registers: [registry],
    collect() {
      this.set(streams.size)
    },
  })
}
