import { currentTrace, type Span, type Tracing } from '@parley/shared/tracing'
import type { Metrics } from '../../metrics/metrics.ts'
import { type Call, CallError, type HttpClient } from './http-client.ts'

/** The purpose of a call: `handler`, `function`, `media`, `typing`, `rate`, or the name of the provider that sends. */
export type CallKind = string

/** The same client, each of whose calls is a duration in the metrics and a span of the trace that it belongs to. */
export function observeCalls(
  http: HttpClient,
  observing: { kind: CallKind; metrics: Pick<Metrics, 'called'>; tracing: Tracing },
): HttpClient {
  const { kind, metrics, tracing } = observing
  const observe = async <C extends Pick<Call, 'url' | 'headers'>, A extends { status: number }>(
    method: string,
    call: C,
    make: (call: C) => Promise<A>,
  ): Promise<A> => {
    const started = performance.now()
    const span = tracing.start(`${method} ${kind}`, {
      kind: 'client',
      parent: currentTrace(),
      attributes: { 'http.request.method': method, 'parley.call.kind': kind },
    })
    const end = (outcome: string, result: Parameters<Span['end']>[0]) => {
      metrics.called(kind, outcome, (performance.now() - started) / 1_000)
      span.end(result)
    }
    const { traceparent } = span
    try {
      const answer = await make(
        traceparent === undefined ? call : { ...call, headers: { ...call.headers, traceparent } },
      )
      const { status } = answer
      const attributes = { 'http.response.status_code': status }
      end(`${Math.floor(status / 100)}xx`, {
        attributes,
        ...(status >= 400 ? { error: String(status) } : {}),
      })
      return answer
    } catch (error) {
      const failure = error instanceof CallError ? error.failure : 'failed'
      end(failure, { error: failure })
      throw error
    }
  }
  return {
    ...http,
    post: (call) => observe('POST', call, http.post),
    send: (call) => observe(call.method, call, http.send),
    getBytes: (call) => observe('GET', call, http.getBytes),
  }
}
