import { jsonBody } from '@parley/shared/json-body'
import { jsonObject } from '@parley/shared/json-object'
import { pathId } from '@parley/shared/openapi/path-id'
import { methodNotAllowed } from '@parley/shared/problem'
import { validate } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { KnownTemplates } from '../../channels/templates/known-templates.ts'
import type { AskProvider } from '../../channels/templates/provider-templates.ts'

const MAX_BYTES = 8 * 1024 * 1024
const MAX_SETS = 1_000
const MAX_LANGUAGES = 200

const name = z.string().min(1).max(1_024)
const definition = z.object({
  name,
  language: name,
  status: name,
  category: name,
  parameterFormat: name.optional(),
  components: z.array(jsonObject),
})
const stored = z.object({
  sets: z
    .array(
      z.object({
        account: name,
        name,
        at: z.iso.datetime(),
        definitions: z.array(definition).max(MAX_LANGUAGES),
      }),
    )
    .max(MAX_SETS),
})
const draft = definition.omit({ status: true })
const operation = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('list'), name: name.optional(), after: z.string().max(4_096).optional() }),
  z.object({ kind: z.literal('create'), draft }),
  z.object({ kind: z.literal('edit'), providerId: name, draft }),
  z.object({ kind: z.literal('remove'), providerId: name, name }),
])

/**
 * For the campaigns service, below /workspaces/{workspace}: POST templates, what is known of them from now on; POST
 * channels/{id}/templates, what a channel's provider is asked about them, always 200 with what came of it.
 */
export function templateRoutes({
  known,
  ask,
}: {
  known: Pick<KnownTemplates, 'store'>
  ask: AskProvider
}): Router {
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BYTES })
  router
    .route('/workspaces/:workspace/templates')
    .post(body, async (req, res) => {
      const workspace = pathId({ id: req.params.workspace })
      const { sets } = validate(stored, req.body)
      await known.store(sets.map((set) => ({ ...set, workspace, at: new Date(set.at) })))
      res.json({ stored: sets.length })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/channels/:id/templates')
    .post(body, async (req, res) => {
      const channel = { workspace: pathId({ id: req.params.workspace }), id: pathId(req.params) }
      res.json(await ask(channel, validate(operation, req.body)))
    })
    .all(methodNotAllowed('POST'))
  return router
}
