import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { newApiToken } from '../api-tokens/create-api-token.ts'
import { AT, deleted, id, idParameter, NO_STORE, pageOf, pageParameters, time } from './schemas.ts'

const tag = 'tokens'
const path = '/api/auth/tokens'

const token = z
  .object({
    _id: id,
    name: z.string(),
    role: id,
    account: id.describe('Who made it; it ends with that account'),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable().describe('To the minute'),
  })
  .meta({ id: 'ApiToken', description: 'A long-lived token, without its secret' })
const created = z.object({ ...token.shape, token: z.string().describe('Returned once, here') })

const example = {
  _id: 1,
  name: 'Provider',
  role: 4,
  account: 1,
  createdAt: AT,
  expiresAt: '2027-11-20T11:36:37.235Z',
  lastUsedAt: null,
}

export const tokenOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path,
    id: 'listApiTokens',
    tag,
    summary: 'List API tokens',
    parameters: pageParameters,
    response: pageOf('ApiToken', token, example),
    errors: ['validation_failed'],
  },
  {
    method: 'POST',
    path,
    id: 'createApiToken',
    tag,
    summary: 'Make an API token',
    description:
      'It takes a login within the last ten minutes, or `currentPassword`. A role other than one’s own takes one that may write `roles` and has all that it has. A workspace may have 100 that are neither revoked nor expired.',
    body: {
      schema: newApiToken.meta({ id: 'ApiTokenBody' }),
      example: { name: 'Provider', role: 'PROVIDER', expiresInDays: 365 },
    },
    response: {
      schema: created.meta({ id: 'NewApiToken' }),
      example: { ...example, token: 'parley_c2VjcmV0' },
      headers: NO_STORE,
    },
    errors: ['invalid_credentials', 'password_required', 'too_many_tokens'],
  },
  {
    method: 'DELETE',
    path: `${path}/{id}`,
    id: 'deleteApiToken',
    tag,
    summary: 'End an API token',
    parameters: [idParameter],
    response: { schema: deleted, example: { _id: 1, deleted: true } },
    errors: ['invalid_id', 'not_found', 'precondition_failed'],
  },
]
