import type { ResourceName } from '@parley/shared/configuration-resources'
import { jsonBody } from '@parley/shared/json-body'
import { safeInteger } from '@parley/shared/json-object'
import { idCursor, pageLimit, parameterError, readQuery } from '@parley/shared/list-query'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { providerNamed } from '@parley/shared/providers/registry'
import { taskOperation } from '@parley/shared/task-operation'
import { validate } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Dependencies } from '../documents/dependencies.ts'
import { locate } from '../documents/store-document.ts'
import { parsePathId } from '../requests/list-query.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { findPage, type PageQuery } from '../store/find-page.ts'
import { type LiveDocument, liveDocument } from '../store/stored-document.ts'
import { findSubscriptions, markSubscription, subscriptionMark } from '../subscriptions/mark-subscription.ts'
import { applyOperation } from '../tasks/apply-operation.ts'
import { eraseTasks, findErasable } from '../tasks/erase-tasks.ts'
import { findTask } from '../tasks/find-task.ts'
import {
  credentialsMark,
  markCredentials,
  markServer,
  markTools,
  serverMark,
  toolsMark,
} from './mark-action.ts'

const NEGATIVE = /^-\d{1,16}$/
const MAX_CHANNELS = 200
const MAX_CONFIGS = 200
const MAX_TASKS = 10_000
const channelQuery = z.object({
  extId: z.string().optional(),
  provider: z.string().optional(),
  receiver: z.string().optional(),
  limit: pageLimit.unwrap().default(MAX_CHANNELS),
  after: z.union([z.literal('').transform(() => undefined), idCursor]).optional(),
})

const subscriptionQuery = z.object({ workspace: safeInteger, id: safeInteger })
const ownerQuery = z.object({ owner: safeInteger, ownerType: z.string() })
const threadQuery = z.object({
  thread: z.string(),
  channel: z.string().optional(),
  isFirst: z.stringbool().optional(),
})
const erasure = threadQuery.extend({
  isFirst: z.boolean().optional(),
  ids: z.array(safeInteger).max(MAX_TASKS).optional(),
  areForgotten: z.boolean().optional(),
})
/** 64 KiB of a submission or a value, in which each character may take several bytes. */
const MAX_OPERATION_BYTES = 512 * 1024

type Needed = Pick<Dependencies, 'database'>

/** Routes by which other services read and write without an account: `/workspaces/{workspace}/…`. */
export function internalRoutes(dependencies: Dependencies): Router {
  const { database } = dependencies
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_OPERATION_BYTES })
  router
    .route('/workspaces/:workspace/tasks/operations')
    .post(body, taskOperations(dependencies))
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/subscriptions/:id/mark')
    .post(body, marks(dependencies))
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/actions/:id/credentials')
    .post(body, credentialMarks(dependencies))
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/actions/:id/server')
    .post(body, serverMarks(dependencies))
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/actions/:id/tools')
    .post(body, toolsMarks(dependencies))
    .all(methodNotAllowed('POST'))
  router.route('/subscriptions').get(subscriptions({ database })).all(methodNotAllowed('GET'))
  router
    .route('/workspaces/:workspace/tasks/erase')
    .post(body, tasksErased(dependencies))
    .all(methodNotAllowed('POST'))
  router
    .route('/workspaces/:workspace/tasks/of-thread')
    .get(tasksOfThread({ database }))
    .all(methodNotAllowed('GET'))
  router.route('/workspaces/:workspace/tasks').get(activeTask({ database })).all(methodNotAllowed('GET'))
  router.route('/workspaces/:workspace/configs').get(ownedConfigs({ database })).all(methodNotAllowed('GET'))
  router.route('/workspaces/:workspace/channels').get(channels({ database })).all(methodNotAllowed('GET'))
  router
    .route('/workspaces/:workspace/:resource/:id')
    .get(oneDocument({ database }))
    .all(methodNotAllowed('GET'))
  return router
}

/**
 * `GET …/channels?extId=`: all with that external id (at most 200), and `?provider=&receiver=` all that updates of the
 * provider name so. Without them all there are, `limit` at a time after the id `after`; `next` is where the next page
 * begins. Lowest id first.
 */
function channels({ database }: Needed): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const { extId, provider, receiver, limit, after } = readQuery(channelQuery, req)
    const workspace = workspaceOf(req.params)
    const query: PageQuery = {
      workspace,
      filters: extId === undefined ? [] : [['extId', extId]],
      sort: { field: '_id', descending: false },
      after: after === undefined ? undefined : { value: null, id: after },
      limit,
      visible: receiver === undefined ? {} : ofReceiver(provider, receiver),
    }
    let page = await findPage(database, definitions.channels, query)
    // Messages are given up for a channel that is not there, so a primary that was replaced may not say so.
    if (extId !== undefined && page.documents.length === 0)
      page = await findPage(database, definitions.channels, { ...query, isLinearizable: true })
    const data = page.documents.map(stored)
    res.json(extId === undefined && receiver === undefined ? { data, next: page.end?.id ?? null } : { data })
  }
}

/** A setting may be stored as a number. */
function ofReceiver(provider: string | undefined, receiver: string): Record<string, unknown> {
  const setting = providerNamed(provider)?.inbound?.receiver
  if (setting === undefined) throw parameterError('provider', 'names no receivers', 'invalid_value')
  return { [`doc.config.${setting}`]: { $in: [receiver, Number(receiver)] } }
}

/** `GET …/configs?owner=&ownerType=`: all of that owner, lowest id first, at most 200. */
function ownedConfigs({ database }: Needed): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const { owner, ownerType } = readQuery(ownerQuery, req)
    const page = await findPage(database, definitions.configs, {
      workspace: workspaceOf(req.params),
      filters: [
        ['owner', owner],
        ['ownerType', ownerType],
      ],
      sort: { field: '_id', descending: false },
      limit: MAX_CONFIGS,
      visible: {},
    })
    res.json({ data: page.documents.map(stored) })
  }
}

/** `GET …/tasks?thread=&channel=&isFirst=`: the active task of a channel's thread, of several the one with the lowest id. */
function activeTask({ database }: Needed): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const thread = { workspace: workspaceOf(req.params), ...readQuery(threadQuery, req) }
    // An earlier release asks without the channel.
    const isOfAny = thread.channel === undefined
    const found = liveDocument(await findTask(database, { ...thread, isOfAny, status: 'active' }))
    if (found === undefined) throw new Problem('not_found')
    res.json(stored(found))
  }
}

/** `POST …/tasks/operations`: what an agent does with the task of its thread; always 200 with what came of it. */
function taskOperations(dependencies: Dependencies): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const given = validate(taskOperation, req.body)
    res.json(await applyOperation(dependencies, { ...given, workspace: workspaceOf(req.params) }))
  }
}

/** `GET /subscriptions?workspace=&id=`: those of all workspaces after this one, 200 at a time, with their workspaces. */
function subscriptions({ database }: Needed): RequestHandler {
  return async (req, res) => {
    const { workspace, id } = readQuery(subscriptionQuery, req)
    res.json({ data: await findSubscriptions(database, { workspace, id }) })
  }
}

/** `POST …/subscriptions/{id}/mark`: what the dispatcher reports of its deliveries. */
function marks(dependencies: Dependencies): RequestHandler<{ workspace: string; id: string }> {
  return async (req, res) => {
    const { id = 0 } = parsePathId(definitions.subscriptions, req.params.id)
    const address = { workspace: workspaceOf(req.params), id }
    res.json({ marked: await markSubscription(dependencies, address, validate(subscriptionMark, req.body)) })
  }
}

/** `POST …/actions/{id}/credentials`: what the dispatcher reports of asking for access tokens with them. */
function credentialMarks(dependencies: Dependencies): RequestHandler<{ workspace: string; id: string }> {
  return async (req, res) => {
    const { id = 0 } = parsePathId(definitions.actions, req.params.id)
    const owner = { workspace: workspaceOf(req.params), action: id }
    res.json({ marked: await markCredentials(dependencies, owner, validate(credentialsMark, req.body)) })
  }
}

/** `POST …/actions/{id}/server`: whether the server of an action gives its tools. */
function serverMarks(dependencies: Dependencies): RequestHandler<{ workspace: string; id: string }> {
  return async (req, res) => {
    const { id = 0 } = parsePathId(definitions.actions, req.params.id)
    const address = { workspace: workspaceOf(req.params), id }
    res.json({ marked: await markServer(dependencies, address, validate(serverMark, req.body)) })
  }
}

/** `POST …/actions/{id}/tools`: what of an action's spec or server is no tool. */
function toolsMarks(dependencies: Dependencies): RequestHandler<{ workspace: string; id: string }> {
  return async (req, res) => {
    const { id = 0 } = parsePathId(definitions.actions, req.params.id)
    const address = { workspace: workspaceOf(req.params), id }
    res.json({ marked: await markTools(dependencies, address, validate(toolsMark, req.body)) })
  }
}

/** `GET …/tasks/of-thread`, as above: every task of which something would be erased with the thread; null for a deleted one. */
function tasksOfThread({ database }: Needed): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const thread = { workspace: workspaceOf(req.params), ...readQuery(threadQuery, req) }
    const found = await findErasable(database, thread)
    res.json({ data: found.map((one) => ({ _id: one._id.id, task: liveDocument(one)?.doc ?? null })) })
  }
}

/** `POST …/tasks/erase`: empties the context of these tasks of a thread, for good; of all where an earlier release asks. */
function tasksErased(dependencies: Dependencies): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const given = validate(erasure, req.body)
    await eraseTasks(dependencies, { workspace: workspaceOf(req.params), ...given })
    res.json({ erased: true })
  }
}

/** `GET …/{resource}/{id}`: the document with its version. */
function oneDocument({
  database,
}: Needed): RequestHandler<{ workspace: string; resource: string; id: string }> {
  return async (req, res) => {
    const definition = definitionOf(req.params.resource)
    // References are any safe integer, and no document has a negative id.
    if (NEGATIVE.test(req.params.id)) throw new Problem('not_found')
    const path = parsePathId(definition, req.params.id)
    const workspace = workspaceOf(req.params)
    const current = await locate({ database, definition, workspace, path })
    if (current === undefined) throw new Problem('not_found')
    res.json(stored(current))
  }
}

/** The document as it is stored: its secrets stay sealed, and who works with them opens them. */
const stored = ({ version, doc }: LiveDocument): object => ({ ...doc, version })

function workspaceOf({ workspace }: { workspace: string }): number {
  return parsePathId({ keyed: false }, workspace).id ?? 0
}

function definitionOf(resource: string): ResourceDefinition {
  if (!Object.hasOwn(definitions, resource)) throw new Problem('not_found')
  return definitions[resource as ResourceName]
}
