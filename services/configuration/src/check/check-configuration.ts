import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { documentFilter } from '../access/document-filter.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { parameterFault, parameters } from '../documents/parameters.ts'
import { allResources, definitions } from '../resources/all-resources.ts'
import { RESOURCES, type ResourceDefinition, type ResourceName } from '../resources/definition.ts'
import { findPage } from '../store/find-page.ts'
import { decodeCursor, encodeCursor, type Position } from '../store/list-cursor.ts'
import { checkActions } from './check-actions.ts'
import { checkChannels, checkTasks } from './check-channels.ts'
import { checkReferences } from './check-references.ts'
import { checkSteps, checkWorkflows } from './check-steps.ts'
import type { Batch, Finding } from './finding.ts'
import { loadStepGraph } from './step-graph.ts'

const BATCH = 200
const MAX_FINDINGS = 500
const MAX_MS = 3_000

const checks: Partial<Record<ResourceName, (batch: Batch) => Finding[] | Promise<Finding[]>>> = {
  channels: checkChannels,
  tasks: checkTasks,
  steps: checkSteps,
  actions: checkActions,
  workflows: checkWorkflows,
}

/**
 * `GET /rest/check`: what is wrong with the workspace's configuration, as far as the caller may read it. It
 * stops after 500 findings or 3 s, and `next` goes on from there.
 */
export function checkConfiguration({ database, authorizer }: Dependencies): RequestHandler {
  return async (req, res) => {
    const start = startOf(parameters(req, ['after']).get('after'))
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const steps = await loadStepGraph(database, workspace)
    const until = performance.now() + MAX_MS
    const data: Finding[] = []
    const isEnough = () => data.length >= MAX_FINDINGS || performance.now() > until
    for (const definition of allResources.slice(RESOURCES.indexOf(start.resource))) {
      const read = await authorizer.decide(caller, definition.name, 'read')
      if (read.kind === 'none') continue
      let after: Position | undefined = definition.name === start.resource ? start.after : undefined
      do {
        const page = await findPage(database, definition, {
          ...{ workspace, after, limit: BATCH, visible: documentFilter(read) },
          ...{ filters: [], sort: { field: '_id', descending: false } },
        })
        const documents = page.documents.map(({ doc }) => doc)
        data.push(...(await checkBatch({ database, workspace, definition, documents, steps })))
        after = page.end
        if (isEnough() && after) return void res.json({ data, next: cursorOf(definition, after) })
      } while (after)
    }
    res.json({ data, next: null })
  }
}

async function checkBatch(batch: Batch): Promise<Finding[]> {
  const own = checks[batch.definition.name]
  return [...(await checkReferences(batch)), ...(own ? await own(batch) : [])]
}

const ORDER = 'check'

const cursorOf = ({ name }: ResourceDefinition, { id }: Position): string =>
  encodeCursor(ORDER, { value: name, id })

function startOf(text: string | undefined): { resource: ResourceName; after?: Position } {
  if (text === undefined) return { resource: RESOURCES[0] }
  const { value, id } = decodeCursor(ORDER, text)
  if (typeof value !== 'string' || !Object.hasOwn(definitions, value)) {
    throw parameterFault('after', 'not a cursor of a check')
  }
  return { resource: value as ResourceName, after: { value: null, id } }
}
