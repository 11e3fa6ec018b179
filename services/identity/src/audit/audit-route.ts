import { jsonObject } from '@parley/shared/json-object'
import { integerFilter } from '@parley/shared/list-query'
import { z } from 'zod'
import { listRoute } from '../resource-routes.ts'
import { AT, id, time } from '../schemas.ts'
import type { AuditEntry } from '../store/audit.ts'

const MAX_FILTER = 128
const word = z.string().max(MAX_FILTER).optional()
const outcome = z.enum(['done', 'refused'])

const entry = z
  .object({
    _id: id,
    at: time,
    account: id.describe('Who acted; of a login, whose it is'),
    token: id.optional().describe('The API token that they acted with'),
    name: z.string().optional().describe('What the account was called'),
    address: z.string().optional().describe('Where the request came from'),
    requestId: z.string().optional(),
    outcome,
    times: z.number().int().describe('How often within a minute'),
    path: z.string().optional().describe('What it was asked for at; what may be a phone number is `*`'),
    action: z.string(),
    resource: z.string(),
    document: id.describe('0 where there is none, or it is named by `path`'),
    details: jsonObject,
    changes: z
      .array(z.object({ field: z.string(), before: z.string(), after: z.string() }))
      .optional()
      .describe('As JSON, at most 200 characters of each'),
  })
  .meta({ id: 'AuditEntry', description: 'Something that somebody did or was refused' })

const filters = {
  parameters: {
    account: integerFilter,
    token: integerFilter,
    action: word,
    resource: word,
    document: integerFilter,
    outcome: outcome.optional(),
    since: time.optional(),
    until: time.optional(),
  },
  select: ({ since, until, outcome, ...equal }: Record<string, unknown>): object => {
    const at = {
      ...(since !== undefined && { $gte: dateOf(since) }),
      ...(until !== undefined && { $lt: dateOf(until) }),
    }
    return {
      ...Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)),
      ...(Object.keys(at).length > 0 && { at }),
      ...(outcome === 'refused' && { outcome }),
      ...(outcome === 'done' && { outcome: { $ne: 'refused' } }),
    }
  },
}

const dateOf = (time: unknown): Date => new Date(String(time))

/** The audit log: administration, configuration, refusals and logins, the latest first. */
export const auditRoute = listRoute<AuditEntry>(
  {
    name: 'audit',
    path: '/rest/audit',
    tag: 'administration',
    title: 'AuditEntry',
    schema: entry,
    example: {
      _id: 1,
      at: AT,
      account: 1,
      name: 'Ana Souza',
      address: '203.0.113.7',
      requestId: '0199f2a4-3c11-7c3e-9a51-0b8c0f4a7d10',
      outcome: 'done',
      times: 1,
      action: 'update',
      resource: 'users',
      document: 2,
      details: { fields: ['name'] },
      changes: [{ field: 'name', before: '"Bruno"', after: '"Bruno Lima"' }],
    },
    view: ({ workspace: _workspace, key: _key, outcome = 'done', times = 1, ...rest }) => ({
      ...{ ...rest, outcome, times },
    }),
    collection: ({ audit }) => audit,
  },
  {
    ...{ id: 'listAuditEntries', summary: 'List who did what', description: 'The latest first.' },
    ...{ newestFirst: true, filters },
  },
)
