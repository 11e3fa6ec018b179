import { pipeline } from 'node:stream/promises'
import { personAddresses } from '@parley/shared/consent'
import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { ownAddresses } from '@parley/shared/providers/address'
import { validate } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { AudioStore } from './audio/audio-store.ts'
import { type People, placeOf } from './people/people.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_ERASED = 500
const MAX_ERASE_BYTES = 128 * 1024
const MAX_BYTES = 16 * 1024
const erased = z.object({ ids: z.array(z.string().max(128)).max(MAX_ERASED) })
const thread = z.string().min(1).max(1_024)
const named = z.object({
  addresses: z.array(z.string().max(256)).min(1).max(8),
  thread,
  since: z.iso.datetime(),
})

/**
 * For the dispatcher, below /workspaces/{workspace}: GET audio/{id}, the text that came in as `audio`; POST audio/erase, which
 * erases that of the messages in `ids`; POST people, whom a send went to by all addresses that the provider has of them, and
 * since when there is a thread of that name; POST people/forget, whose thread is erased. For the campaigns service, POST
 * people/find, what is stored of whoever has one of the addresses, and people/erase, which erases that.
 */
export function internalRoutes({
  audio,
  people,
}: {
  audio: Pick<AudioStore, 'open' | 'erase'>
  people: Pick<People, 'claim' | 'forget' | 'known' | 'erase'>
}): Router {
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BYTES })
  // Before the next one, whose id it would be.
  router
    .route('/workspaces/:workspace/audio/erase')
    .post(jsonBody({ maxBytes: MAX_ERASE_BYTES }), async (req, res) => {
      const workspace = workspaceIn(req.params)
      await audio.erase(workspace, validate(erased, req.body).ids)
      res.json({ erased: true })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/audio/:id')
    .get(async (req, res) => {
      const found = await audio.open(workspaceIn(req.params), req.params.id)
      if (found === undefined) throw new Problem('not_found')
      res.set({ 'content-type': 'text/plain; charset=utf-8', 'content-length': String(found.bytes) })
      await pipeline(found.content, res)
    })
    .all(methodNotAllowed('GET'))
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
    .route('/workspaces/:workspace/people/find')
    .post(body, async (req, res) => {
      const { addresses } = validate(z.object({ addresses: personAddresses }), req.body)
      res.json({ data: await people.known(workspaceIn(req.params), addresses) })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/people/erase')
    .post(body, async (req, res) => {
      const { addresses } = validate(z.object({ addresses: personAddresses }), req.body)
      await people.erase(workspaceIn(req.params), addresses)
      res.json({ erased: true })
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
