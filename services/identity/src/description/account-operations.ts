import { jsonObject } from '@parley/shared/json-object'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { anyObject } from '../accounts/me.ts'
import { acceptance } from '../invitations/invitation-routes.ts'
import { ownChange } from '../own-account/change-own.ts'
import { sessionsToEnd } from '../own-account/own-sessions.ts'
import { passwordChange } from '../password-change/change-password.ts'
import { registration } from '../registration/register.ts'
import { credentials } from '../sessions/login.ts'
import { logoutBody } from '../sessions/logout.ts'
import { refreshBody } from '../sessions/refresh.ts'
import {
  AT,
  accessToken,
  id,
  NO_STORE,
  role,
  roleExample,
  sessionTokens,
  time,
  times,
  timesExample,
  tokensExample,
  workspace,
  workspaceExample,
} from './schemas.ts'
import { user, userExample } from './user-operations.ts'

const MIN_PASSWORD = 1
const PASSWORD = 'correct horse battery staple'
const tag = 'accounts'

const account = z.object({
  _id: id,
  provider: z.string().describe('The authentication provider'),
  username: z.string().describe('The email, exactly as it was sent'),
  passwordHash: z.string().describe('Returned once, here; of no use without a key that is stored elsewhere'),
  salt: z.string(),
  name: z.string(),
  profile: id,
  ...times,
  context: jsonObject,
})
const registered = z
  .object({ _id: id, account, role: id, workspace, ...times, ...accessToken })
  .meta({ id: 'RegisteredUser', description: 'A new user, the first of a workspace of their own' })

const who = {
  _id: 1,
  provider: 'local',
  username: 'ana@example.com',
  name: 'Ana Souza',
  profile: 1,
  ...timesExample,
}

const me = z
  .object({
    _id: id,
    provider: z.string(),
    username: z.string(),
    name: z.string(),
    profile: id,
    workspace,
    role,
    ...times,
    context: jsonObject.nullish(),
  })
  .meta({ id: 'CurrentUser', description: 'Who is calling' })

const session = z
  .object({
    _id: z.string(),
    createdAt: time.describe('When somebody logged in'),
    usedAt: time.describe('When it was refreshed last'),
    userAgent: z.string().nullable().describe('What the program calls itself; 256 characters at most'),
    isCurrent: z.boolean().describe('Whether it is the one that asks'),
  })
  .meta({ id: 'OwnSession', description: 'A login of one’s own that has not ended' })
const sessionExample = {
  _id: 'bG9naW4tb2YtYW5h',
  createdAt: AT,
  usedAt: AT,
  userAgent: 'Mozilla/5.0',
  isCurrent: true,
}

const { accessToken: example, expiresAt } = tokensExample

export const accountOperations: readonly DescribedOperation[] = [
  {
    method: 'POST',
    path: '/api/auth/register',
    id: 'register',
    tag,
    summary: 'Register',
    description: 'Makes an account, a workspace of its own and its roles. A bearer token is not looked at.',
    body: {
      schema: registration(MIN_PASSWORD).meta({ id: 'Registration' }),
      example: {
        name: 'Ana Souza',
        email: 'ana@example.com',
        phone: '+5511999990000',
        password: PASSWORD,
        namespace: 'acme',
      },
    },
    response: {
      schema: registered,
      example: {
        _id: 1,
        account: { ...who, passwordHash: '$2b$12$…', salt: '$2b$12$…', context: {} },
        role: 1,
        workspace: workspaceExample,
        ...timesExample,
        accessToken: example,
        expiresAt,
      },
      headers: NO_STORE,
    },
    errors: ['email_taken'],
  },
  {
    method: 'POST',
    path: '/api/auth/login',
    id: 'login',
    tag,
    summary: 'Log in',
    description:
      'The same answer and the same work for an unknown user and a wrong password. With `cookie: true`, for pages of ' +
      'the gateway’s own origin (else 403), the refresh token is not in the body but in a cookie ' +
      '(`HttpOnly; SameSite=Strict; Secure`, the last not for HTTP on loopback) that refresh and logout take.',
    body: {
      schema: credentials.meta({ id: 'Credentials', description: 'With `username` or `email`' }),
      example: { username: 'ana@example.com', password: PASSWORD },
    },
    response: { schema: sessionTokens, example: tokensExample, headers: NO_STORE },
    errors: ['invalid_credentials', 'forbidden'],
  },
  {
    method: 'POST',
    path: '/api/auth/refresh',
    id: 'refresh',
    tag,
    summary: 'Go on with a session',
    description:
      'Trades a refresh token for its successor. Using an old one again ends the session. Without one in the body, ' +
      'that of the cookie is taken when `Origin` is the address that was asked, else 403.',
    body: {
      schema: refreshBody.unwrap(),
      example: { refreshToken: tokensExample.refreshToken },
      optional: true,
    },
    response: { schema: sessionTokens, example: tokensExample, headers: NO_STORE },
    errors: ['invalid_refresh_token', 'forbidden'],
  },
  {
    method: 'POST',
    path: '/api/auth/accept-invitation',
    id: 'acceptInvitation',
    tag,
    summary: 'Accept an invitation',
    description: 'Refused when whoever invited may not invite for this role any more.',
    body: {
      schema: acceptance(MIN_PASSWORD),
      example: { token: 'c2VjcmV0LW9mLXRoZS1pbnZpdGF0aW9u', name: 'Bruno Lima', password: PASSWORD },
    },
    response: {
      schema: z
        .object({ ...user.shape, ...sessionTokens.shape, refreshToken: z.string() })
        .meta({ id: 'AcceptedInvitation' }),
      example: { ...userExample, ...tokensExample },
      headers: NO_STORE,
    },
    errors: ['invalid_invitation', 'email_taken'],
  },
  {
    method: 'POST',
    path: '/api/auth/me',
    id: 'me',
    tag,
    summary: 'Who is calling',
    body: { schema: anyObject.unwrap(), example: {}, optional: true },
    response: {
      schema: me,
      example: { ...who, workspace: workspaceExample, role: roleExample, context: {} },
      headers: NO_STORE,
    },
  },
  {
    method: 'PATCH',
    path: '/api/auth/me',
    id: 'changeMe',
    tag,
    summary: 'Change one’s own name and phone number',
    description:
      'Takes no rights but a login: an API token may not. Refused where the role grants more to whoever has that name.',
    body: { schema: ownChange, example: { name: 'Ana Souza' } },
    response: {
      schema: me,
      example: { ...who, workspace: workspaceExample, role: roleExample, context: {} },
      headers: NO_STORE,
    },
    errors: ['precondition_failed'],
  },
  {
    method: 'GET',
    path: '/api/auth/sessions',
    id: 'listOwnSessions',
    tag,
    summary: 'List one’s own sessions',
    description: 'Those that have not ended, the latest 200 first. An API token may not.',
    response: {
      schema: z.object({ data: z.array(session) }).meta({ id: 'OwnSessions' }),
      example: { data: [sessionExample] },
      headers: NO_STORE,
    },
  },
  {
    method: 'POST',
    path: '/api/auth/sessions/end',
    id: 'endOwnSessions',
    tag,
    summary: 'End sessions of one’s own',
    description:
      'The one of that id, or without it all others than the one that asks: their tokens stop working in under 2 s. ' +
      'An API token may not.',
    body: { schema: sessionsToEnd.unwrap(), example: { session: sessionExample._id }, optional: true },
    response: { schema: z.object({ ended: z.literal(true) }), example: { ended: true } },
    errors: ['not_found'],
  },
  {
    ...{
      method: 'POST',
      path: '/api/auth/password',
      id: 'changePassword',
      tag,
      summary: 'Change the password',
    },
    description:
      'Ends every other session of the account, and its API tokens and the invitations that it made unless ' +
      '`keepApiTokens` is true. An API token may not.',
    body: {
      schema: passwordChange(MIN_PASSWORD),
      example: { currentPassword: PASSWORD, newPassword: 'paper staple' },
    },
    response: { schema: z.object({ changed: z.literal(true) }), example: { changed: true } },
    errors: ['invalid_credentials'],
  },
  {
    method: 'POST',
    path: '/api/auth/logout',
    id: 'logout',
    tag,
    summary: 'Log out',
    description:
      'Ends the session of the refresh token in the body, else of that in the cookie, else of the bearer token; ' +
      'with `everywhere` all.',
    body: { schema: logoutBody.unwrap(), example: { everywhere: false }, optional: true },
    response: {
      schema: z.object({ loggedOut: z.literal(true) }),
      example: { loggedOut: true },
      headers: NO_STORE,
    },
  },
  {
    method: 'GET',
    path: '/.well-known/jwks.json',
    id: 'readSigningKeys',
    tag: 'operation',
    summary: 'The keys that access tokens are verified with',
    response: {
      schema: z
        .object({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) })
        .meta({ id: 'SigningKeys' }),
      example: { keys: [{ kid: AT, kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', use: 'sig', alg: 'ES256' }] },
      headers: [{ name: 'Cache-Control', description: 'How long they may be cached' }],
    },
  },
]
