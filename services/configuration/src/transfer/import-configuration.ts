import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import { safeInteger } from '@parley/shared/json-object'
import { queryFlag } from '@parley/shared/list-query'
import { route } from '@parley/shared/openapi/route'
import { type FieldError, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { documentFilter, type WriteAccess, writeAccess } from '../access/access.ts'
import { isCredentials } from '../credentials/model-origins.ts'
import { MAX_BODY_BYTES } from '../documents/body.ts'
import { documentToWrite, settleCredentials } from '../documents/build-for-caller.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { storeDocument } from '../documents/store-document.ts'
import { authorOf } from '../store/stored-document.ts'
import { KeyTaken } from '../store/write-document.ts'
import { configurationExample, configurationSchema } from './configuration-format.ts'
import { type Imported, parseImport, requireNone } from './parse-import.ts'
import { errorsOfRoom, importedDocument, type PlannedStep, planStep } from './plan-import.ts'

const AT_A_TIME = 16
// Some 4,000 documents; what is more is imported in parts.
const MAX_MEMBERS = 40_000

type AccessTo = Map<ResourceName, WriteAccess>

const count = z.number().int()
const importPlan = z
  .object({
    dryRun: z.boolean(),
    summary: z.object({ create: count, update: count, unchanged: count }),
    plan: z.array(
      z.object({
        resource: z.enum(CONFIGURATION_RESOURCES),
        _id: safeInteger,
        action: z.enum(['create', 'update', 'unchanged']),
        changes: z.array(z.string()).describe('Where it changes, as JSON Pointers'),
      }),
    ),
  })
  .meta({ id: 'ImportPlan', description: 'What an import does, or would do' })

/**
 * Creates and replaces the documents of an export, each under its own id, and leaves all others alone; unchanged documents are
 * not written. One document's write is one write: after a failure in the middle the same import is sent again.
 */
export const importConfiguration = route({
  method: 'POST',
  path: '/rest/import',
  access: 'write',
  resource: 'channels',
  id: 'importConfiguration',
  tag: 'configuration',
  summary: 'Import a configuration',
  description: 'Each document under its own id; others stay. With an error anywhere nothing is applied.',
  query: z.object({ dryRun: queryFlag.describe('Only returns what it would do') }),
  body: {
    schema: configurationSchema,
    example: configurationExample,
    maxBytes: MAX_BODY_BYTES,
    maxMembers: MAX_MEMBERS,
  },
  response: {
    schema: importPlan,
    example: {
      dryRun: true,
      summary: { create: 0, update: 1, unchanged: 0 },
      plan: [{ resource: 'steps', _id: 1, action: 'update', changes: ['/next'] }],
    },
  },
  errors: ['reference_forbidden'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const { database, authorizer } = dependencies
    const { dryRun } = asked.query()
    const caller = callerOf(res)
    const imported = parseImport(req.body)
    const access: AccessTo = new Map()
    for (const { definition } of imported) {
      if (access.has(definition.name)) continue
      access.set(definition.name, await writeAccess(authorizer, caller, definition.name))
    }
    const outcomes = await inBatches(imported, (each) =>
      planStep(dependencies, { caller, access: accessTo(access, each), imported: each }).then(
        (step) => ({ step }),
        (error: unknown) => ({ errors: errorsIn(error) }),
      ),
    )
    // In the order of the documents, whichever was looked at first.
    requireNone(outcomes.flatMap((outcome) => ('errors' in outcome ? outcome.errors : [])))
    const plan = outcomes.flatMap((outcome) => ('step' in outcome ? [outcome.step] : []))
    requireNone(await errorsOfRoom(database, caller.workspace._id, plan))
    if (!dryRun) {
      const due = imported.filter((_, at) => plan[at]?.action !== 'unchanged')
      const { credentials = [], others = [] } = Object.groupBy(due, ({ fields, definition }) =>
        definition.name === 'configs' && isCredentials(fields.name) ? 'credentials' : 'others',
      )
      // They are for the addresses that the import has.
      for (const some of [others, credentials])
        await inBatches(some, (each) => apply(dependencies, caller, accessTo(access, each), each))
    }
    res.json({ dryRun, summary: summaryOf(plan), plan })
  },
})

/** The validation errors of one document, to be returned with those of all others; other errors are thrown. */
function errorsIn(error: unknown): readonly FieldError[] {
  const isInvalid = error instanceof Problem && error.code === 'validation_failed'
  const errors = isInvalid ? error.options.errors : undefined
  if (errors === undefined) throw error
  return errors
}

function accessTo(access: AccessTo, { definition }: Imported): WriteAccess {
  return access.get(definition.name) ?? { read: { kind: 'none' }, write: { kind: 'none' } }
}

async function apply(
  dependencies: Dependencies,
  caller: Caller,
  access: WriteAccess,
  imported: Imported,
): Promise<void> {
  const { definition, id, path } = imported
  const workspace = caller.workspace._id
  try {
    const { doc } = await storeDocument(dependencies, {
      definition,
      workspace,
      author: authorOf(caller),
      path: { id },
      build: (_id, current) =>
        importedDocument({ caller, access, imported }, current, (write) =>
          documentToWrite(dependencies, write),
        ),
      guard: documentFilter(access.write),
    })
    await settleCredentials(dependencies, { definition, workspace, doc })
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw error
    const message = 'another document has just taken this key'
    throw new Problem('validation_failed', { errors: [{ path: `${path}/key`, code: 'key_taken', message }] })
  }
}

/** Runs `work` for every item, 16 at a time; stops at the first failure. */
async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += AT_A_TIME) {
    results.push(...(await Promise.all(items.slice(at, at + AT_A_TIME).map(work))))
  }
  return results
}

function summaryOf(plan: readonly PlannedStep[]): Record<PlannedStep['action'], number> {
  const summary = { create: 0, update: 0, unchanged: 0 }
  for (const { action } of plan) summary[action]++
  return summary
}
