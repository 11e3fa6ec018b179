import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { type OperationParameter, queryParameters } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { pageQuery } from '../requests.ts'

export const AT = '2026-11-20T11:36:37.235Z'
export const id = safeInteger
export const time = z.iso.datetime()
export const times = { createdAt: time, updatedAt: time }
export const timesExample = { createdAt: AT, updatedAt: AT }

export const deleted = z
  .object({ _id: id, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted' })

export const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  description: 'An integer from 0 to 2^53-1',
  schema: id.nonnegative(),
  required: true,
  example: 1,
}

export const pageParameters = queryParameters(pageQuery, {
  limit: 'How many at a time',
  after: 'The `next` of the page before',
})

/** A page of `one`, and an example with one of them. */
export function pageOf(name: string, one: z.ZodType, example: unknown) {
  return {
    schema: z.object({ data: z.array(one), next: z.string().nullable() }).meta({ id: `${name}Page` }),
    example: { data: [example], next: null },
  }
}

export const workspace = z
  .object({
    _id: id,
    name: z.string(),
    namespace: z.string().describe('A label, as it was sent; several workspaces may have the same'),
    host: z.string().describe('The address of the workspace alone'),
    status: z.string().describe('`active` after registration'),
    ...times,
    context: jsonObject,
  })
  .meta({ id: 'Workspace', description: 'Where the people and the configuration of one team are' })

export const workspaceExample = {
  _id: 1,
  name: 'acme',
  namespace: 'acme',
  host: 'acme.parley.localhost',
  status: 'active',
  ...timesExample,
  context: {},
}

const part = z
  .union([z.string(), z.boolean(), z.null()])
  .optional()
  .describe('An expression, see the page on permissions')

export const role = z
  .object({
    _id: id,
    name: z.string(),
    version: z.number().int().describe('Counts up with every change'),
    permissions: z.array(z.object({ schema: part, read: part, write: part })),
    ...times,
  })
  .meta({ id: 'Role', description: 'What those may who have it' })

export const permissionsExample = [
  {
    schema: "{{resource}} == 'channels'",
    read: '{{account.workspace._id}}',
    write: '{{account.workspace._id}}',
  },
]

export const roleExample = {
  _id: 1,
  name: 'CHANNEL_EDITOR',
  version: 1,
  permissions: permissionsExample,
  ...timesExample,
}

export const accessToken = {
  accessToken: z.string().describe('A bearer token for 15 minutes'),
  expiresAt: time.describe('When the access token ends'),
}

export const sessionTokens = z
  .object({
    ...accessToken,
    tokenType: z.literal('Bearer'),
    refreshToken: z.string().optional().describe('Absent where a cookie has it'),
  })
  .meta({ id: 'SessionTokens', description: 'What a session goes on with' })

export const tokensExample = {
  accessToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl',
  expiresAt: '2026-11-20T11:51:37.000Z',
  tokenType: 'Bearer',
  refreshToken: 'Zm9yLW9uZS11c2Utb25seQ',
}

/** What must stay out of caches. */
export const NO_STORE = [{ name: 'Cache-Control', description: '`no-store`' }]
