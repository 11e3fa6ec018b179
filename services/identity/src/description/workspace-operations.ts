import { jsonObject } from '@parley/shared/json-object'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { workspaceChange } from '../workspaces/workspace-routes.ts'
import { AT, id, idParameter, pageOf, pageParameters, time, workspace, workspaceExample } from './schemas.ts'

const tag = 'administration'
const path = '/rest/workspaces/{id}'
const response = { schema: workspace, example: workspaceExample }

const act = z
  .object({
    _id: id,
    at: time,
    account: id.describe('Who acted'),
    token: id.optional().describe('The API token that they acted with'),
    action: z.string(),
    resource: z.string(),
    document: id,
    details: jsonObject,
  })
  .meta({ id: 'AuditEntry', description: 'One administrative act' })
const actExample = {
  _id: 1,
  at: AT,
  account: 1,
  action: 'create',
  resource: 'users',
  document: 2,
  details: { username: 'bruno@example.com', role: 3 },
}

export const workspaceOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/workspaces',
    id: 'listWorkspaces',
    tag,
    summary: 'List workspaces: the one that the caller is in',
    response: pageOf('Workspace', workspace, workspaceExample),
  },
  {
    method: 'GET',
    path,
    id: 'readWorkspace',
    tag,
    summary: 'Read the workspace',
    parameters: [idParameter],
    response,
    errors: ['invalid_id', 'not_found'],
  },
  {
    method: 'PATCH',
    path,
    id: 'changeWorkspace',
    tag,
    summary: 'Change the workspace',
    parameters: [idParameter],
    body: {
      schema: workspaceChange.meta({ id: 'WorkspacePatch' }),
      example: { context: { team: 'support' } },
    },
    response: { ...response, example: { ...workspaceExample, context: { team: 'support' } } },
    errors: ['invalid_id', 'not_found', 'precondition_failed'],
  },
  {
    method: 'GET',
    path: '/rest/audit',
    id: 'listAuditEntries',
    tag,
    summary: 'List what was done',
    description: 'The latest first.',
    parameters: pageParameters,
    response: pageOf('AuditEntry', act, actExample),
    errors: ['validation_failed'],
  },
]
