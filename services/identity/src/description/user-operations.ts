import { jsonObject } from '@parley/shared/json-object'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { newInvitation } from '../invitations/invitation-routes.ts'
import { newUser } from '../users/create-user.ts'
import { userChange } from '../users/user-routes.ts'
import {
  AT,
  deleted,
  id,
  idParameter,
  NO_STORE,
  pageOf,
  pageParameters,
  time,
  times,
  timesExample,
} from './schemas.ts'

const tag = 'administration'

export const user = z
  .object({
    _id: id,
    provider: z.string(),
    username: z.string(),
    name: z.string(),
    phone: z.string(),
    profile: id,
    workspace: id,
    role: id,
    ...times,
    context: jsonObject,
  })
  .meta({ id: 'User', description: 'A user of the workspace' })

export const userExample = {
  _id: 2,
  provider: 'local',
  username: 'bruno@example.com',
  name: 'Bruno Lima',
  phone: '+5511999990001',
  profile: 2,
  workspace: 1,
  role: 3,
  ...timesExample,
  context: {},
}

const invitation = z
  .object({ _id: id, email: z.string(), role: id, account: id, createdAt: time, expiresAt: time })
  .meta({ id: 'Invitation', description: 'A place in the workspace that waits for somebody' })
const invited = z.object({ ...invitation.shape, token: z.string().describe('Returned once, here') })
const invitationExample = {
  _id: 1,
  email: 'carla@example.com',
  role: 3,
  account: 1,
  createdAt: AT,
  expiresAt: '2026-11-27T11:36:37.235Z',
}

const users: DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/users',
    id: 'listUsers',
    tag,
    summary: 'List users',
    parameters: pageParameters,
    response: pageOf('User', user, userExample),
    errors: ['validation_failed'],
  },
  {
    method: 'POST',
    path: '/rest/users',
    id: 'createUser',
    tag,
    summary: 'Make a user',
    description:
      'With the context `{}`. Refused where the role then grants the user what the caller has not.',
    body: {
      schema: newUser(1).meta({ id: 'UserBody' }),
      example: {
        name: 'Bruno Lima',
        email: 'bruno@example.com',
        phone: '+5511999990001',
        password: 'correct horse battery staple',
        role: 'VIEWER',
      },
    },
    response: { schema: user, example: userExample },
    errors: ['email_taken'],
  },
  {
    method: 'GET',
    path: '/rest/users/{id}',
    id: 'readUser',
    tag,
    summary: 'Read a user',
    parameters: [idParameter],
    response: { schema: user, example: userExample },
    errors: ['invalid_id', 'not_found'],
  },
  {
    method: 'PATCH',
    path: '/rest/users/{id}',
    id: 'changeUser',
    tag,
    summary: 'Change a user',
    description:
      'Nobody gives an account with their own role a name or a context by which it has more than they have. Refused where the ' +
      'user is changed at the same moment.',
    parameters: [idParameter],
    body: { schema: userChange.meta({ id: 'UserPatch' }), example: { name: 'Bruno de Lima' } },
    response: { schema: user, example: { ...userExample, name: 'Bruno de Lima' } },
    errors: ['invalid_id', 'not_found', 'last_admin', 'precondition_failed'],
  },
  {
    method: 'DELETE',
    path: '/rest/users/{id}',
    id: 'deleteUser',
    tag,
    summary: 'Remove a user',
    description: 'Their sessions, API tokens and invitations end with them.',
    parameters: [idParameter],
    response: { schema: deleted, example: { _id: 2, deleted: true } },
    errors: ['invalid_id', 'not_found', 'last_admin', 'precondition_failed'],
  },
]

const invitations: DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/invitations',
    id: 'listInvitations',
    tag,
    summary: 'List invitations',
    parameters: pageParameters,
    response: pageOf('Invitation', invitation, invitationExample),
    errors: ['validation_failed'],
  },
  {
    method: 'POST',
    path: '/rest/invitations',
    id: 'invite',
    tag,
    summary: 'Invite somebody',
    description:
      'The token in the answer accepts it, once, within 7 days, as long as whoever made it may invite for this role. It ends ' +
      'when they are removed, or change their password without keeping their API tokens, and with the API token that it was made with.',
    body: {
      schema: newInvitation.meta({ id: 'InvitationBody' }),
      example: { email: 'carla@example.com', role: 'VIEWER' },
    },
    response: {
      schema: invited.meta({ id: 'NewInvitation' }),
      example: { ...invitationExample, token: 'c2VjcmV0LW9mLXRoZS1pbnZpdGF0aW9u' },
      headers: NO_STORE,
    },
    errors: ['email_taken'],
  },
  {
    method: 'DELETE',
    path: '/rest/invitations/{id}',
    id: 'withdrawInvitation',
    tag,
    summary: 'Withdraw an invitation',
    parameters: [idParameter],
    response: { schema: deleted, example: { _id: 1, deleted: true } },
    errors: ['invalid_id', 'not_found', 'precondition_failed'],
  },
]

export const userOperations: readonly DescribedOperation[] = [...users, ...invitations]
