import {
  type Context,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { parseTraceparent, type Span, type Tracing } from './tracing.ts'

const EXPORT_MS = 5_000
const MAX_QUEUED = 4_096

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

/**
 * Sends spans in batches to `<endpoint>/v1/traces` by OTLP over HTTP. At most 4,096 wait; what comes beyond that,
 * or while the endpoint is unavailable, is dropped. `ratio` of the traces that begin here are exported.
 */
export function createOtlpTracing(options: { service: string; endpoint: string; ratio: number }): Tracing {
  const { service, endpoint, ratio } = options
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'parley' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: MAX_QUEUED, exportTimeoutMillis: EXPORT_MS }),
    ],
  })
  const tracer = provider.getTracer('parley')
  return {
    start(name, { kind, parent, attributes = {} }) {
      return wrap(tracer.startSpan(name, { kind: KINDS[kind], attributes }, contextOf(parent)))
    },
    // Nothing that is lost here is worth a process that does not end.
    close: () => provider.shutdown().catch(() => {}),
  }
}

function contextOf(parent: string | undefined): Context {
  const parsed = parseTraceparent(parent)
  if (parsed === undefined) return ROOT_CONTEXT
  const { traceId, spanId, flags } = parsed
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true })
}

function wrap(span: OtelSpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext()
  const flags = traceFlags.toString(16).padStart(2, '0')
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    end({ name, attributes, error } = {}) {
      if (name !== undefined) span.updateName(name)
      if (attributes !== undefined) span.setAttributes(attributes)
      if (error !== undefined)
        span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}
