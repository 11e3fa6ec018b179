import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { type AgentAction, credentialsIn } from '../../agents/agent.ts'
import type { ReadAction } from '../../agents/read-action.ts'
import type { Authorizations } from '../../functions/authorizations.ts'
import { TokenError } from '../../functions/request-token.ts'
import { requireDocument } from '../assistant/require-assistant.ts'

const MAX_BODY_BYTES = 32 * 1024
const MAX_TEXT = 8_192
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

const redirectUri = z
  .url({ protocol: /^https?$/, abort: true })
  .max(2_048)
  .refine((text) => {
    const { protocol, hostname, hash, username, password } = new URL(text)
    return hash + username + password === '' && (protocol === 'https:' || LOOPBACK.includes(hostname))
  }, 'expected an https URL, or one of this machine, without fragment and user')

/** The dependencies of connecting actions. */
export interface Connecting {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  authorizations: Authorizations
  readAction: ReadAction
}

const ofActions = {
  method: 'POST' as const,
  resource: 'actions',
  tag: 'actions',
  access: 'write' as const,
  parameters: [idParameter('The `_id` of the action')],
}

export const beginConnection = route({
  ...ofActions,
  path: '/rest/actions/{id}/connect',
  id: 'connectAction',
  summary: 'Begin to connect an action',
  description:
    'For actions whose config `credentials` has `{"oauth": {"grant": "authorization_code"}}`: `authorizationUrl` is where a browser asks somebody for consent, by the authorization code flow with PKCE. It comes back to `redirectUri` with `code` and `state`, which end it within 10 minutes, in the same login. The role has to write configs, too.',
  body: {
    schema: z
      .strictObject({
        redirectUri: redirectUri.describe(
          'Where the browser comes back to: of the console, `/console/connected`',
        ),
      })
      .meta({ id: 'ConnectBody' }),
    example: { redirectUri: 'https://parley.example/console/connected' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ authorizationUrl: z.string(), expiresAt: z.iso.datetime() })
      .meta({ id: 'Connection', description: 'Where somebody gives consent' }),
    example: {
      authorizationUrl: 'https://auth.example/authorize?response_type=code&state=1.Zm9v',
      expiresAt: '2026-11-28T09:10:00.000Z',
    },
  },
  errors: ['not_found', 'invalid_id', 'no_consent', 'bad_gateway'],
  handle: (needed: Connecting) => async (req, res, asked) => {
    const caller = callerOf(res)
    const action = await actionOf(needed, caller, pathId(req.params))
    const { redirectUri } = asked.body()
    const { url, expiresAt } = await orProblem(
      needed.authorizations.begin({ ...subjectOf(caller, action), redirectUri }),
    )
    const body = { authorizationUrl: url, expiresAt: expiresAt.toISOString() }
    res.set('cache-control', 'no-store').json(body)
  },
})

export const endConnection = route({
  ...ofActions,
  path: '/rest/actions/{id}/connected',
  id: 'actionConnected',
  summary: 'End connecting an action',
  description:
    'With what the browser came back with: the action gets access tokens from then on, which are renewed by themselves. It ends once, by whoever began it.',
  body: {
    schema: z
      .strictObject({
        state: z.string().min(1).max(MAX_TEXT),
        code: z.string().min(1).max(MAX_TEXT),
        iss: z
          .string()
          .max(2_048)
          .optional()
          .describe('Who gave the code, where the authorization server says it'),
      })
      .meta({ id: 'ConnectedBody' }),
    example: { state: '1.Zm9v', code: 'SplxlOBeZQQYbYS6WxSbIA' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z.object({ connected: z.literal(true) }).meta({ id: 'Connected' }),
    example: { connected: true as const },
  },
  errors: ['not_found', 'invalid_id', 'no_consent', 'bad_gateway'],
  handle: (needed: Connecting) => async (req, res, asked) => {
    const caller = callerOf(res)
    const action = await actionOf(needed, caller, pathId(req.params))
    const { state, code, iss } = asked.body()
    const isEnded = await orProblem(
      needed.authorizations.end({ ...subjectOf(caller, action), state, code, issuer: iss }),
    )
    if (!isEnded) throw new Problem('no_consent', { detail: 'Nothing of that state is under way for you.' })
    res.set('cache-control', 'no-store').json({ connected: true })
  },
})

/** The action as the caller may write it; its credentials are configs. */
async function actionOf(needed: Connecting, caller: Caller, id: number): Promise<AgentAction> {
  await requireDocument(needed, { caller, resource: 'actions', id, access: 'write' })
  await needed.authorizer.require(caller, 'configs', 'write')
  const address = { workspace: caller.workspace._id, _id: id }
  const action = await needed.readAction(address, { notBefore: Date.now() })
  if (action === undefined) throw new Problem('not_found')
  return action
}

function subjectOf({ workspace, account, session, token }: Caller, action: AgentAction) {
  const { _id, specType, moduleUrl } = action
  return {
    action: { workspace: workspace._id, _id, ...(specType === 'mcp' && { discoveredAt: moduleUrl }) },
    credentials: credentialsIn(action),
    account: account._id,
    session: session ?? `token ${token}`,
  }
}

/** Turns token errors into problems: a refusal is not our fault, and an unreachable server may be there later. */
async function orProblem<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    if (!(error instanceof TokenError)) throw error
    throw new Problem(error.isRefused ? 'no_consent' : 'bad_gateway', { detail: error.message })
  }
}
