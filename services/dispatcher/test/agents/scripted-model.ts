import type { ModelRequest } from '../../src/agents/model-client.ts'
import type { modelTurn } from './agent-system.ts'

/** A model that answers with one after the other, and what it was asked. */
export function script(...results: (ReturnType<typeof modelTurn> | string)[]) {
  const requests: ModelRequest[] = []
  const model = (request: ModelRequest) => {
    requests.push(request)
    return results[requests.length - 1] ?? 'no more'
  }
  return { model, requests }
}

/** A tool that answers so. */
export const note = (status = 200, text = 'noted') => ({
  kind: 'call' as const,
  deliver: async () => ({
    kind: 'answered' as const,
    result: { state: status < 400 ? ('done' as const) : ('failed' as const), status, text },
  }),
})
