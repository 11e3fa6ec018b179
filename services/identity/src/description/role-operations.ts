import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { explanationBody } from '../roles/explain-role.ts'
import { partOfRole, wholeRole } from '../roles/save-role.ts'
import {
  deleted,
  idParameter,
  pageOf,
  pageParameters,
  permissionsExample,
  role,
  roleExample,
} from './schemas.ts'

const tag = 'administration'
const collection = '/rest/roles'
const path = `${collection}/{id}`
const response = { schema: role, example: roleExample }
const name = 'CHANNEL_EDITOR'

const part = {
  expression: z.unknown().describe('As it is stored'),
  reason: z.string(),
  column: z.number().int().optional().describe('Where it does not parse, from 1'),
}
const access = z.object({ ...part, grants: z.enum(['none', 'some', 'all']) })
const explanation = z
  .object({
    result: z.string(),
    references: z
      .array(z.string())
      .describe('What the rights of the role give together, because documents of the resource name others'),
    entries: z.array(
      z.object({
        entry: z.number().int().describe('From 1, in the order of the role'),
        schema: z.object({ ...part, applies: z.boolean() }),
        read: access,
        write: access,
      }),
    ),
  })
  .meta({ id: 'Explanation', description: 'Which entry allows or denies, and why' })

const granted = { expression: '{{account.workspace._id}}', reason: 'Came to 1', grants: 'all' }

export const roleOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: collection,
    id: 'listRoles',
    tag,
    summary: 'List roles',
    parameters: pageParameters,
    response: pageOf('Role', role, roleExample),
    errors: ['validation_failed'],
  },
  {
    method: 'POST',
    path: collection,
    id: 'createRole',
    tag,
    summary: 'Make a role',
    body: {
      schema: wholeRole.meta({ id: 'RoleBody' }),
      example: { name, permissions: permissionsExample },
    },
    response,
    errors: ['name_taken'],
  },
  {
    method: 'GET',
    path,
    id: 'readRole',
    tag,
    summary: 'Read a role',
    parameters: [idParameter],
    response,
    errors: ['invalid_id', 'not_found'],
  },
  {
    method: 'PUT',
    path,
    id: 'putRole',
    tag,
    summary: 'Replace a role',
    description: 'In effect within 2 seconds, for all who have it.',
    parameters: [idParameter],
    body: { schema: wholeRole.meta({ id: 'RoleBody' }), example: { name, permissions: permissionsExample } },
    response,
    errors: ['invalid_id', 'not_found', 'name_taken', 'last_admin', 'precondition_failed'],
  },
  {
    method: 'PATCH',
    path,
    id: 'patchRole',
    tag,
    summary: 'Change a role',
    description: 'What is not sent stays.',
    parameters: [idParameter],
    body: { schema: partOfRole.meta({ id: 'RolePatch' }), example: { permissions: permissionsExample } },
    response,
    errors: ['invalid_id', 'not_found', 'name_taken', 'last_admin', 'precondition_failed'],
  },
  {
    method: 'DELETE',
    path,
    id: 'deleteRole',
    tag,
    summary: 'Delete a role',
    description: 'Refused while somebody or something has it.',
    parameters: [idParameter],
    response: { schema: deleted, example: { _id: 1, deleted: true } },
    errors: ['invalid_id', 'not_found', 'still_referenced', 'precondition_failed'],
  },
  {
    method: 'POST',
    path: `${path}/explain`,
    id: 'explainRole',
    tag,
    summary: 'Explain a role',
    parameters: [idParameter],
    body: {
      schema: explanationBody.meta({ id: 'ExplanationBody' }),
      example: { resource: 'channels' },
    },
    response: {
      schema: explanation,
      example: {
        result: 'The caller may read all of channels (entry 1), and may write all of channels (entry 1).',
        references: [],
        entries: [
          {
            entry: 1,
            schema: { expression: "{{resource}} == 'channels'", reason: 'Came to true', applies: true },
            read: granted,
            write: granted,
          },
        ],
      },
    },
    errors: ['invalid_id', 'not_found'],
  },
]
