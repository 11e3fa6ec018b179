import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { defined } from '@parley/shared/defined'
import { queryFlag } from '@parley/shared/list-query'
import { mapYielding } from '@parley/shared/map-yielding'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { Response } from 'express'
import { z } from 'zod'
import { documentFilter } from '../access/access.ts'
import { withoutOwnFields } from '../documents/body.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { maskSecrets, type Present, presenterFor } from '../secrets/presenter.ts'
import type { Database } from '../store/database.ts'
import { findPage, type PageQuery, type Position } from '../store/find-page.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import {
  configurationExample,
  configurationSchema,
  FORMAT_VERSION,
  TRANSFERRED,
} from './configuration-format.ts'

const PAGE = 200

interface Part {
  definition: ResourceDefinition
  visible: PageQuery['visible']
  present: Present
}

/** Secrets are masked; with `?secrets=true` those are not that the caller may write. */
export const exportConfiguration = route({
  method: 'GET',
  path: '/rest/export',
  access: 'token',
  id: 'exportConfiguration',
  tag: 'configuration',
  summary: 'Export the configuration',
  description: 'As far as the caller may read it, in the form of an import.',
  query: z.object({
    secrets: queryFlag.describe('Shows the secrets that the caller may write; else `••••`'),
  }),
  response: { schema: configurationSchema, example: configurationExample },
  handle:
    ({ database, authorizer, secrets }: Dependencies) =>
    async (_req, res, asked) => {
      const { secrets: plain } = asked.query()
      const caller = callerOf(res)
      const parts: Part[] = []
      for (const name of TRANSFERRED) {
        const read = await authorizer.decide(caller, name, 'read')
        if (read.kind === 'none') continue
        const present = plain ? await presenterFor({ authorizer, secrets, caller }, name) : maskSecrets
        parts.push({ definition: definitions[name], visible: documentFilter(read), present })
      }
      const caching = plain ? 'no-store' : 'private, no-cache'
      res.set({ 'content-type': 'application/json; charset=utf-8', 'cache-control': caching })
      await stream(res, exported({ database, workspace: caller.workspace._id, parts }))
    },
})

/** A failure before the first text becomes a problem response; later the connection ends in the middle. */
async function stream(res: Response, texts: AsyncGenerator<string>): Promise<void> {
  const first = await texts.next()
  async function* all() {
    if (!first.done) yield first.value
    yield* texts
  }
  try {
    await pipeline(Readable.from(all()), res)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}

async function* exported(options: {
  database: Database
  workspace: number
  parts: readonly Part[]
}): AsyncGenerator<string> {
  const { database, workspace, parts } = options
  let before = `{"version":${FORMAT_VERSION},"resources":{`
  for (const [at, part] of parts.entries()) {
    before += `${at > 0 ? ',' : ''}${JSON.stringify(part.definition.name)}:[`
    for await (const documents of pages(database, workspace, part)) {
      const texts = await mapYielding(documents, (doc) =>
        JSON.stringify(transferable(part.definition, part.present(doc))),
      )
      yield before + texts.join(',')
      before = ','
    }
    before = before === ',' ? ']' : `${before}]`
  }
  yield `${before}}}`
}

async function* pages(database: Database, workspace: number, { definition, visible }: Part) {
  let after: Position | undefined
  do {
    const page = await findPage(database, definition, {
      workspace,
      visible,
      after,
      limit: PAGE,
      filters: [],
      sort: { field: '_id', descending: false },
    })
    if (page.documents.length > 0) yield page.documents.map(({ doc }) => doc)
    after = page.end
  } while (after)
}

/** Without times and what the service sets: two workspaces of the same configuration export the same. */
function transferable(definition: ResourceDefinition, { _id, key, ...doc }: ResourceDocument): object {
  return { _id, ...defined({ key }), ...withoutOwnFields(definition, doc) }
}
