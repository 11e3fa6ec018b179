import { encodeCursor, parameterError, readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { openSecrets } from '@parley/shared/sealed-value'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { documentFilter } from '../access/access.ts'
import { after as afterParameter } from '../description/parameters.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import type { Lookup } from '../references/find-referenced.ts'
import { listCursor, positionIn } from '../requests/list-query.ts'
import { allResources, definitions } from '../resources/all-resources.ts'
import { RESOURCES, type ResourceName } from '../resources/definition.ts'
import { findPage, type Position } from '../store/find-page.ts'
import { checkActions } from './check-actions.ts'
import { checkChannels, checkTasks } from './check-channels.ts'
import { checkCredentials } from './check-credentials.ts'
import { checkReferences } from './check-references.ts'
import { checkSteps, checkWorkflows, loadStepGraph } from './check-steps.ts'
import { checkSubscriptions } from './check-subscriptions.ts'
import { checkUrls } from './check-urls.ts'
import { type Batch, type Finding, finding } from './finding.ts'

const BATCH = 200
const MAX_FINDINGS = 500
const MAX_MS = 3_000
const SORT_TEXT = 'check'
const checkQuery = z.object({ after: listCursor.optional() })

const checks: Partial<Record<ResourceName, (batch: Batch) => Finding[] | Promise<Finding[]>>> = {
  channels: checkChannels,
  tasks: checkTasks,
  steps: checkSteps,
  configs: checkCredentials,
  actions: checkActions,
  workflows: checkWorkflows,
  subscriptions: checkSubscriptions,
}

/**
 * `GET /rest/check`: what is wrong with the workspace's configuration, as far as the caller may read it. It
 * stops after 500 findings or 3 s, and `next` goes on from there; specs that were not read by then are `not_checked`.
 */
export function checkConfiguration({ database, authorizer, secrets, specs }: Dependencies): RequestHandler {
  return async (req, res) => {
    const start = startOf(readQuery(checkQuery, req).after)
    const caller = callerOf(res)
    const until = performance.now() + MAX_MS
    const opened: Batch['opened'] = (doc) => openSecrets(doc, secrets, caller.workspace._id)
    const steps = await loadStepGraph(database, caller.workspace._id)
    const data: Finding[] = []
    for await (const { batch, next } of batches({ database, authorizer, caller }, start)) {
      data.push(...(await checkBatch({ ...batch, steps, opened, specs, until })))
      const isEnough = data.length >= MAX_FINDINGS || performance.now() > until
      if (isEnough && next !== undefined) return void res.json({ data, next })
    }
    res.json({ data, next: null })
  }
}

interface Start {
  resource: ResourceName
  after?: Position
}

/** All that the caller may read from `start` on, with the cursor of what follows in the same resource. */
async function* batches({ database, authorizer, caller }: Lookup, start: Start) {
  const workspace = caller.workspace._id
  for (const definition of allResources.slice(RESOURCES.indexOf(start.resource))) {
    const read = await authorizer.decide(caller, definition.name, 'read')
    if (read.kind === 'none') continue
    const visible = documentFilter(read)
    let after: Position | undefined = definition.name === start.resource ? start.after : undefined
    do {
      const page = await findPage(database, definition, {
        workspace,
        after,
        limit: BATCH,
        visible,
        filters: [],
        sort: { field: '_id', descending: false },
      })
      after = page.end
      const documents = page.documents.map(({ doc }) => doc)
      const versions = new Map(page.documents.map(({ doc, version }) => [doc._id, version]))
      yield {
        batch: { database, workspace, definition, documents, versions, visible },
        next: after && encodeCursor([SORT_TEXT, definition.name, after.id]),
      }
    } while (after)
  }
}

async function checkBatch(batch: Batch): Promise<Finding[]> {
  const own = checks[batch.definition.name]
  return [...(await checkReferences(batch)), ...(own ? await own(batch) : []), ...(await checkUrls(batch))]
}

function startOf(cursor: z.output<typeof checkQuery>['after']): Start {
  if (cursor === undefined) return { resource: RESOURCES[0] }
  const { value, id } = positionIn(cursor, SORT_TEXT)
  if (typeof value !== 'string' || !Object.hasOwn(definitions, value)) {
    throw parameterError('after', 'is not a cursor of a check', 'invalid_cursor')
  }
  return { resource: value as ResourceName, after: { value: null, id } }
}

export const checkOperation: DescribedOperation = {
  method: 'GET',
  path: '/rest/check',
  id: 'checkConfiguration',
  tag: 'configuration',
  summary: 'List what is wrong with the configuration',
  description:
    'Up to 500 findings, or what is found in 3 seconds; `next` goes on from there. Specs that were not read by then are `not_checked`; a further check goes on with them.',
  parameters: [afterParameter],
  response: {
    schema: z.object({ data: z.array(finding), next: z.string().nullable() }).meta({ id: 'FindingPage' }),
    example: {
      data: [
        {
          code: 'dangling_reference',
          resource: 'assistant',
          _id: 1,
          path: '/job',
          message: 'there is no jobs/7',
        },
      ],
      next: null,
    },
  },
  errors: ['validation_failed'],
}
