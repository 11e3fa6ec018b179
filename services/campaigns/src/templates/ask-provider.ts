import type { InternalClient } from '@parley/shared/internal-client'
import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'

const TIMEOUT_MS = 20_000

const refusal = z.object({
  kind: z.enum(['refused', 'unconfigured', 'unavailable']),
  message: z.string(),
  code: z.number().optional(),
})
const template = z.object({
  ...{ providerId: z.string(), name: z.string(), language: z.string(), status: z.string() },
  category: z.string(),
  components: z.array(jsonObject),
  parameterFormat: z.string().optional(),
  quality: z.string().optional(),
  refusedFor: z.string().optional(),
})
const page = z.object({
  kind: z.literal('done'),
  templates: z.array(template).max(1_000),
  next: z.string().optional(),
})
const change = z.object({ kind: z.literal('done'), providerId: z.string().optional() })

/** A provider's refusal of the request. */
export type Refusal = z.output<typeof refusal>

interface Asked {
  workspace: number
  channel: number
}

type Dispatcher = Pick<InternalClient, 'post'>

/** A page of a provider's templates. The dispatcher asks: it alone opens the secrets of channels. Rejects with `unavailable`. */
export async function askForTemplates(
  dispatcher: Dispatcher,
  of: Asked,
  asked: { name?: string | undefined; after?: string | undefined },
): Promise<z.output<typeof page> | Refusal> {
  return z.union([page, refusal]).parse(await ask(dispatcher, of, { kind: 'list', ...asked }))
}

/** As {@link askForTemplates}, for a change of one. */
export async function askForChange(
  dispatcher: Dispatcher,
  of: Asked,
  operation: object,
): Promise<z.output<typeof change> | Refusal> {
  return z.union([change, refusal]).parse(await ask(dispatcher, of, operation))
}

const ask = (dispatcher: Dispatcher, { workspace, channel }: Asked, operation: object) =>
  dispatcher.post(`/internal/workspaces/${workspace}/channels/${channel}/templates`, operation, {
    timeoutMs: TIMEOUT_MS,
  })
