import { consentChange } from '@parley/shared/consent'
import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { parse, validate } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import { addressesOfPerson } from '../../consent/record-consent.ts'
import type { Suppressions } from '../../consent/suppressions.ts'
import type { Collections } from '../../store/collections.ts'
import { type ErasingPeople, erasePerson } from '../people/erase-person.ts'
import { exportPerson, exportQuery } from '../people/export-person.ts'
import { personQuery } from '../people/find-everything.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_CHANGES = 500
const MAX_BYTES = 1024 * 1024
const changes = z.object({ changes: z.array(consentChange).max(MAX_CHANGES) })
const MAX_FOUND = 1_000
const addressed = z.object({ addresses: z.array(z.string().min(1).max(256)).min(1).max(MAX_FOUND) })

/**
 * For the campaigns service, below /workspaces/{workspace}: POST suppressions, which stores changes of consent for all
 * addresses of their persons; POST suppressions/find, what was last said of some addresses; POST people/export, a page of what
 * there is of a person; POST people/erase, which goes on until it says that it is `done`.
 */
export function internalRoutes(
  needed: ErasingPeople & {
    collections: Pick<Collections, 'threads' | 'notes'>
    suppressions: Pick<Suppressions, 'change' | 'find'>
  },
): Router {
  const { collections, suppressions } = needed
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BYTES })
  const post = (path: string, handle: (workspace: number, body: unknown) => Promise<object>) =>
    router
      .route(`/workspaces/:workspace/${path}`)
      .post(body, async (req, res) => void res.json(await handle(workspaceIn(req.params), req.body)))
      .all(methodNotAllowed('POST'))
  post('suppressions', async (workspace, given) => {
    const all = validate(changes, given).changes
    const known = await Promise.all(
      all.map(async ({ at, ...change }) => {
        const addresses = await addressesOfPerson(collections, { workspace, addresses: change.addresses })
        return { ...change, workspace, addresses, at: new Date(at) }
      }),
    )
    await suppressions.change(known)
    return { stored: all.length }
  })
  post('suppressions/find', async (workspace, given) => ({
    data: await suppressions.find({ workspace, ...validate(addressed, given) }),
  }))
  post('people/export', (workspace, given) =>
    exportPerson(needed, { workspace, ...parse(exportQuery, given) }),
  )
  post('people/erase', (workspace, given) =>
    erasePerson(needed, { workspace, ...validate(personQuery, given) }),
  )
  return router
}

function workspaceIn({ workspace }: { workspace?: string }): number {
  if (workspace === undefined || !WORKSPACE.test(workspace)) throw new Problem('invalid_id')
  return Number(workspace)
}
