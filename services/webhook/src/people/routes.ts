import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { ownAddresses } from '@parley/shared/providers/address'
import { validate } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { type People, placeOf } from './people.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_BYTES = 16 * 1024
const thread = z.string().min(1).max(1_024)
const named = z.object({
  addresses: z.array(z.string().max(256)).min(1).max(8),
  thread,
  since: z.iso.datetime(),
})

/**
 * For the dispatcher: POST /workspaces/{workspace}/people, whom a send went to by all addresses that the provider has
 * of them, and since when there is a thread of that name; and POST /workspaces/{workspace}/people/forget, whose thread
 * is erased.
 */
export function peopleRoutes(people: Pick<People, 'claim' | 'forget'>): Router {
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BYTES })
  router
    .route('/workspaces/:workspace/people')
    .post(body, async (req, res) => {
      const { addresses, thread, since } = validate(named, req.body)
      const found = ownAddresses({ addresses })
      const workspace = workspaceIn(req.params)
      res.json(placeOf(await people.claim({ workspace, addresses: found, thread, since: new Date(since) })))
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/people/forget')
    .post(body, async (req, res) => {
      await people.forget(workspaceIn(req.params), validate(z.object({ thread }), req.body).thread)
      res.json({ forgotten: true })
    })
    .all(methodNotAllowed('POST'))
  return router
}

function workspaceIn({ workspace }: { workspace: string }): number {
  if (!WORKSPACE.test(workspace)) throw new Problem('invalid_id')
  return Number(workspace)
}
