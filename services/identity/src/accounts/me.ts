import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { AUTH_BODY_BYTES, id, NO_STORE, times } from '../schemas.ts'
import { accountExample } from '../store/account.ts'
import type { Collections } from '../store/collections.ts'
import { preferencesOf, preferencesSchema } from '../store/preferences.ts'
import { roleExample, roleSchema, roleView } from '../store/role.ts'
import { workspaceExample, workspaceSchema, workspaceView } from '../store/workspace.ts'

/** The caller, read afresh; an API token shows the role that it has itself. */
export const meRoute = route({
  method: 'POST',
  path: '/api/auth/me',
  access: 'token',
  id: 'me',
  tag: 'accounts',
  summary: 'Who is calling',
  // The contract takes any object, or nothing at all.
  body: { schema: z.looseObject({}), example: {}, optional: true, maxBytes: AUTH_BODY_BYTES },
  response: {
    schema: z
      .object({
        _id: id,
        provider: z.string(),
        username: z.string(),
        name: z.string(),
        profile: id,
        workspace: workspaceSchema,
        role: roleSchema,
        ...times,
        context: jsonObject.nullish(),
        preferences: preferencesSchema,
        simulatorUrl: z.url().optional().describe('Where this installation has a simulator of providers'),
      })
      .meta({ id: 'CurrentUser', description: 'Who is calling' }),
    example: {
      ...{ ...accountExample, workspace: workspaceExample, role: roleExample, context: {} },
      preferences: preferencesOf(),
    },
    headers: NO_STORE,
  },
  handle: (needed: OfCallers) => async (_req, res, asked) => {
    asked.body()
    const user = await currentUser(needed, callerOf(res))
    if (user === undefined) throw new Problem('unauthenticated')
    res.set('cache-control', 'no-store').json(user)
  },
})

/** The dependencies of describing a caller. */
export interface OfCallers {
  collections: Collections
  simulatorUrl: string | undefined
}

/** An account with its workspace and role, as its caller sees it; undefined where it is gone. */
export async function currentUser({ collections, simulatorUrl }: OfCallers, caller: Caller) {
  const account = await collections.accounts.findOne({ _id: caller.account._id })
  if (account === null) return undefined
  const [workspace, role] = await Promise.all([
    collections.workspaces.findOne({ _id: account.workspace }),
    collections.roles.findOne({ _id: caller.token === undefined ? account.role : caller.role._id }),
  ])
  if (workspace === null || role === null) return undefined
  const { _id, provider, username, name, profile, createdAt, updatedAt, context, preferences } = account
  return {
    _id,
    provider,
    username,
    name,
    profile,
    workspace: workspaceView(workspace),
    role: roleView(role),
    createdAt,
    updatedAt,
    context: unescapeKeys(context),
    preferences: preferencesOf(preferences),
    ...defined({ simulatorUrl }),
  }
}
