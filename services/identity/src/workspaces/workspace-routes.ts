import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { pageOf } from '@parley/shared/openapi/operation'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { filterOf, requireSelected } from '../access/authorizer.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { type Resource, storeChange } from '../resource-routes.ts'
import { MERGE_PATCH, REST_BODY_BYTES, smallContext } from '../schemas.ts'
import { actorOf } from '../store/audit.ts'
import { type Workspace, workspaceExample, workspaceSchema, workspaceView } from '../store/workspace.ts'

const workspaces: Resource<Workspace> = {
  name: 'workspaces',
  path: '/rest/workspaces',
  tag: 'administration',
  title: 'Workspace',
  schema: workspaceSchema,
  example: workspaceExample,
  view: workspaceView,
  collection: (collections) => collections.workspaces,
}
const { path, tag } = workspaces
const response = { schema: workspaceSchema, example: workspaceExample }

/** `/rest/workspaces`: the one workspace that the caller is in. */
export const workspaceRoutes: readonly Route<Administration>[] = [
  route({
    method: 'GET',
    path,
    access: 'read',
    id: 'listWorkspaces',
    tag,
    summary: 'List workspaces: the one that the caller is in',
    response: pageOf(workspaces.title, workspaceSchema, workspaceExample),
    handle: (administration: Administration) => async (_req, res) => {
      const caller = callerOf(res)
      const decision = await administration.authorizer.require(caller, 'workspaces', 'read')
      const own = await ownWorkspace(administration, caller)
      res.json({ data: allows(decision, own) ? [workspaceView(own)] : [], next: null })
    },
  }),
  route({
    method: 'GET',
    path: `${path}/{id}`,
    access: 'read',
    id: 'readWorkspace',
    tag,
    summary: 'Read the workspace',
    parameters: [idParameter()],
    response,
    errors: ['invalid_id', 'not_found'],
    handle: (administration: Administration) => async (req, res) => {
      res.json(workspaceView(await readable(administration, callerOf(res), pathId(req.params))))
    },
  }),
  route({
    method: 'PATCH',
    path: `${path}/{id}`,
    access: 'write',
    id: 'changeWorkspace',
    tag,
    summary: 'Change the workspace',
    parameters: [idParameter()],
    body: {
      schema: z
        .strictObject({ name: label.optional(), context: smallContext.optional() })
        .meta({ id: 'WorkspacePatch' }),
      example: { context: { team: 'support' } },
      types: MERGE_PATCH,
      maxBytes: REST_BODY_BYTES,
    },
    response: { ...response, example: { ...workspaceExample, context: { team: 'support' } } },
    errors: ['invalid_id', 'not_found', 'precondition_failed'],
    handle: (administration: Administration) => async (req, res, asked) => {
      const caller = actorOf(res)
      const decision = await administration.authorizer.require(caller, 'workspaces', 'write')
      const before = await readable(administration, caller, pathId(req.params))
      requireSelected(decision, before)
      const sent = asked.body()
      const set = { ...defined(sent), updatedAt: new Date() }
      const after = { ...before, ...set }
      requireSelected(decision, after)
      const { _id, name, context } = before
      await storeChange(administration, workspaces, {
        ...{ caller, set, before },
        selected: { $and: [filterOf(decision), { _id, name, context: { $eq: context } }] },
        details: { fields: Object.keys(sent) },
        forgets: { kind: 'workspace', key: String(_id) },
      })
      res.json(workspaceView(after))
    },
  }),
]

async function readable(administration: Administration, caller: Caller, id: number): Promise<Workspace> {
  const decision = await administration.authorizer.decide(caller, 'workspaces', 'read')
  const own = id === caller.workspace._id ? await ownWorkspace(administration, caller) : undefined
  if (own === undefined || !allows(decision, own)) throw new Problem('not_found')
  return own
}

async function ownWorkspace({ collections }: Administration, caller: Caller): Promise<Workspace> {
  const own = await collections.workspaces.findOne({ _id: caller.workspace._id })
  if (own === null) throw new Problem('not_found')
  return own
}
