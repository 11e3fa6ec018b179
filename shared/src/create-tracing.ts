import { type Tracing, untraced } from './tracing.ts'

/** Where spans go, from a process's configuration. */
interface TracingConfig {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_TRACES_SAMPLER_ARG: number
}

/** Traces to an OTLP endpoint; without one nothing of OpenTelemetry is even loaded. */
export async function createTracing(service: string, config: TracingConfig): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio } = config
  if (endpoint === undefined) return untraced
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing({ service, endpoint, ratio })
}
