import { collectPage } from '@parley/shared/collect-page'
import type { JsonObject } from '@parley/shared/json-object'
import { cursorOf, encodeCursor, pageLimit } from '@parley/shared/list-query'
import { type OperationParameter, pageOf } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { changeRoutes } from './change-routes.ts'
import { requireTemplate, templatesVisibleTo } from './find-template-record.ts'
import { previewTemplate } from './preview-template.ts'
import { syncAccount } from './sync-templates.ts'
import { findAccounts } from './template-accounts.ts'
import {
  preview,
  previewBody,
  TEMPLATE_ID,
  templateExample,
  templateView,
  viewOf,
} from './template-schema.ts'
import { accountsOf, LIST_INDEX, templatesOf } from './template-store.ts'

const QUERY_MS = 5_000
const MAX_BYTES = 256 * 1024
/** One request synchronises for so long; what is left is synchronised in the background. */
const SYNC_MS = 20_000

const tag = 'templates'
const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: z.string(),
  example: TEMPLATE_ID,
  description: 'The provider’s id',
}
const filter = z.string().min(1).max(512).optional()

const listTemplates = route({
  method: 'GET',
  path: '/rest/templates',
  access: 'read',
  id: 'listTemplates',
  tag,
  summary: 'List templates',
  description:
    'Those of the accounts that channels have as `config.businessAccountId`, by name and language.',
  query: z.object({
    name: filter,
    language: filter,
    status: filter,
    category: filter,
    account: filter,
    limit: pageLimit,
    after: cursorOf(z.tuple([z.string(), z.string(), z.string()])).optional(),
  }),
  response: pageOf('Template', templateView, templateExample),
  handle: (dependencies: Dependencies) => async (_req, res, asked) => {
    const visible = await templatesVisibleTo(dependencies, res, 'read')
    const { limit, after, ...given } = asked.query()
    const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const [name, language, _id] = after ?? []
    const beyond =
      after === undefined
        ? {}
        : {
            $or: [
              { name: { $gt: name } },
              { name, language: { $gt: language } },
              { name, language, _id: { $gt: _id } },
            ],
          }
    const cursor = templatesOf(dependencies.connection)
      .find({ $and: [visible, fields, beyond] } as object, { maxTimeMS: QUERY_MS })
      .sort(LIST_INDEX)
      .limit(limit + 1)
    const { found, more } = await collectPage(cursor, limit)
    const last = more ? found.at(-1) : undefined
    const next = last === undefined ? null : encodeCursor([last.name, last.language, last._id])
    res.json({ data: found.map(viewOf), next })
  },
})

const readTemplate = route({
  method: 'GET',
  path: '/rest/templates/{id}',
  access: 'read',
  id: 'readTemplate',
  tag,
  summary: 'Read a template',
  parameters: [idParameter],
  response: { schema: templateView, example: templateExample },
  errors: ['not_found'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    res.json(viewOf(await requireTemplate(dependencies, res, { id: req.params.id, access: 'read' })))
  },
})

const syncedAccount = z.object({
  account: z.string(),
  syncedAt: z.iso.datetime().nullable(),
  error: z.string().optional().describe('What the provider said, where it refused'),
})

const syncTemplates = route({
  method: 'POST',
  path: '/rest/templates/sync',
  access: 'write',
  id: 'syncTemplates',
  tag,
  summary: 'Synchronise templates now',
  description:
    'Asks the provider for those of each account; otherwise that is done once a day, and when the provider tells of a change. Needs the right to write all templates.',
  response: {
    schema: z.object({ accounts: z.array(syncedAccount) }).meta({ id: 'TemplatesSynchronised' }),
    example: { accounts: [{ account: '102290129340398', syncedAt: '2026-11-02T12:00:00.000Z' }] },
  },
  handle: (dependencies: Dependencies) => async (_req, res) => {
    const { workspace } = callerOf(res)
    const decision = await dependencies.authorizer.require(callerOf(res), 'templates', 'write')
    if (decision.kind !== 'all')
      throw new Problem('forbidden', { detail: 'The role may not write all templates.' })
    const until = performance.now() + SYNC_MS
    const found = await findAccounts(dependencies, workspace._id)
    for (const account of found) {
      if (performance.now() > until) break
      await syncAccount(dependencies, account)
    }
    const accounts = await accountsOf(dependencies.connection)
      .find({ workspace: workspace._id }, { maxTimeMS: QUERY_MS })
      .sort({ _id: 1 })
      .toArray()
    res.json({
      accounts: accounts.map(({ account, syncedAt, error }) => ({
        ...{ account, syncedAt: syncedAt ?? null },
        ...(error !== undefined && { error }),
      })),
    })
  },
})

const showTemplate = route({
  method: 'POST',
  path: '/rest/templates/{id}/preview',
  access: 'read',
  id: 'previewTemplate',
  tag,
  summary: 'Show a template as a person sees it',
  description: 'With the same arguments as a message of it; what is not given stays a placeholder.',
  parameters: [idParameter],
  body: { schema: previewBody, example: { variables: ['Ana', '4711'] }, maxBytes: MAX_BYTES, optional: true },
  response: {
    schema: preview,
    example: { body: 'Hi Ana, your order 4711 is on its way.', buttons: [], fits: true },
  },
  errors: ['not_found'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const record = await requireTemplate(dependencies, res, { id: req.params.id, access: 'read' })
    res.json(previewTemplate(record, asked.body() as JsonObject))
  },
})

/** The operations of `/rest/templates`. */
export const templateRoutes: readonly Route<Dependencies>[] = [
  ...[listTemplates, syncTemplates, readTemplate, showTemplate],
  ...changeRoutes,
]
