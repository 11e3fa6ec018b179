import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import type { ImportRecord } from './import-record.ts'

const count = z.int().min(0)

export const importView = z
  .object({
    _id: z.uuid(),
    key: z.string().describe('The `Idempotency-Key` under which it goes on'),
    state: z
      .enum(['running', 'open', 'finished', 'failed', 'cancelled'])
      .describe('`open`: what came is settled up to `offset`, and the rest is still to come')
      .meta({ id: 'ImportStatus' }),
    format: z.enum(['csv', 'ndjson']),
    columns: z.array(z.string()).optional().describe('Of CSV: what each is; empty where it is ignored'),
    tags: z.array(z.string()),
    offset: count.describe('In bytes of the file: where the first row begins that is not settled'),
    line: count.describe('On which line that is'),
    counts: z.object({
      rows: count.describe('Those of `created`, `updated`, `repeated` and `refused`'),
      created: count,
      updated: count,
      repeated: count.describe('About somebody whom an earlier row was about: what they say counts as well'),
      refused: count.describe('Wrong: they changed nothing'),
      staysWithdrawn: count.describe('Of the others, those that grant what was withdrawn, which stays so'),
    }),
    failure: z.object({ line: count, code: z.string(), message: z.string() }).optional(),
    createdBy: z.string(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'PeopleImport', description: 'A file of people, and what became of its rows' })

const AT = '2026-11-02T12:00:00.000Z'
export const IMPORT_ID = '0198c0de-7a00-7000-8000-3f6d5a4b2c11'
export const importExample = {
  ...{ _id: IMPORT_ID, key: 'november', state: 'finished' as const, format: 'csv' as const },
  ...{ columns: ['phone', 'name', 'consent.marketing'], tags: ['november'], offset: 78, line: 4 },
  counts: { rows: 2, created: 1, updated: 0, repeated: 0, refused: 1, staysWithdrawn: 0 },
  ...{ createdBy: 'ana@example.com', createdAt: AT, updatedAt: AT },
}

export const rowErrorView = z
  .object({
    line: count,
    path: z.string().describe('Which field of the row'),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'ImportError', description: 'What is wrong with a row; it says nothing of what is in it' })
export const rowErrorExample = {
  ...{ line: 3, path: '/addresses/0', code: 'custom' },
  message: 'is no phone number and no address such as telegram:4711',
}

/** An import as callers see it; where its request is gone without a word, it is open again. */
export function importViewOf(record: ImportRecord, now = Date.now()): z.output<typeof importView> {
  const { _id, key, state, shape, tags, offset, line, counts, failure, by } = record
  const isGone = state === 'running' && (record.busyUntil?.getTime() ?? 0) < now
  return {
    ...{ _id, key, state: isGone ? 'open' : state, format: shape.format },
    ...defined({ columns: shape.columns }),
    ...{ tags, offset, line, counts },
    ...defined({ failure }),
    createdBy: by.username,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  }
}
