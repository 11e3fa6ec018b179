import { AsyncLocalStorage } from 'node:async_hooks'

/** Attributes of a span, by OpenTelemetry's names. */
type Attributes = Record<string, string | number>

/** One timed piece of work in a trace. */
export interface Span {
  /** The context that goes on with the work (W3C Trace Context), so that what follows belongs to it; none in no trace. */
  readonly traceparent: string | undefined
  /** Ends it, once; `error` is a short class of what went wrong, never a text that may contain contents. */
  end(result?: { name?: string; attributes?: Attributes; error?: string }): void
}

export interface Tracing {
  /** Begins a span under `parent`, a traceparent; without one it begins a trace. */
  start(
    name: string,
    options: {
      kind: 'server' | 'client' | 'producer' | 'consumer'
      parent: string | undefined
      attributes?: Attributes
    },
  ): Span
  /** Sends what is left, within 5 s. */
  close(): Promise<void>
}

/** Records nothing, and passes on the trace that a caller is in. */
export const untraced: Tracing = {
  start: (_name, { parent }) => ({ traceparent: parent, end: () => {} }),
  close: async () => {},
}

const active = new AsyncLocalStorage<string>()

/** Runs `work` as part of a trace, which {@link currentTrace} then knows wherever the work leads. */
export function withTrace<T>(traceparent: string | undefined, work: () => T): T {
  return traceparent === undefined ? work() : active.run(traceparent, work)
}

/** The traceparent of the work under way; undefined outside of a trace. */
export const currentTrace = (): string | undefined => active.getStore()

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The parts of a traceparent of version 00; undefined for anything else. */
export function parseTraceparent(
  traceparent: unknown,
): { traceId: string; spanId: string; flags: number } | undefined {
  const [, traceId, spanId, flags] = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
