import { CONFIGURATION_RESOURCES, RESOURCE_ALIASES } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import { MESSAGE_PATHS } from '@parley/shared/message'
import type { Access } from '@parley/shared/permission/decide'
import type { Provider } from '@parley/shared/providers/provider'
import { allProviders } from '@parley/shared/providers/registry'

/** Something that can be asked of the gateway, and what it takes. */
export interface PermissionOperation {
  method: string
  path: string
  /** What a role decides about. */
  resource: string
  /** `nothing`: no token is looked at. `token`: whoever has one may, whatever their role. */
  access: Access | 'nothing' | 'token'
  /** The path of the operation that this one is another name for; it is described there. */
  aliasOf?: string
  service: 'gateway' | 'identity' | 'configuration' | 'webhook' | 'dispatcher'
}

type Line = [
  method: string,
  path: string,
  access: PermissionOperation['access'],
  resource?: string,
  aliasOf?: string,
]

const collection = (name: string): Line[] => [
  ['GET', `/rest/${name}`, 'read'],
  ['POST', `/rest/${name}`, 'write'],
  ['GET', `/rest/${name}/{id}`, 'read'],
  ['PUT', `/rest/${name}/{id}`, 'write'],
  ['PATCH', `/rest/${name}/{id}`, 'write'],
  ['DELETE', `/rest/${name}/{id}`, 'write'],
  ['GET', `/rest/${name}/{id}/history`, 'read'],
]

const aliased = ([alias, name]: [string, string]): Line[] =>
  collection(name).map(([method, path, access]) => [
    method,
    path.replace(`/rest/${name}`, `/rest/${alias}`),
    access,
    name,
    path,
  ])

const TRANSFER: Line[] = [
  ['GET', '/rest/check', 'token'],
  ['GET', '/rest/export', 'token'],
  ['POST', '/rest/import', 'write', 'channels'],
]

const IDENTITY: Line[] = [
  ['GET', '/.well-known/jwks.json', 'nothing'],
  ['POST', '/api/auth/register', 'nothing'],
  ['POST', '/api/auth/login', 'nothing'],
  ['POST', '/api/auth/refresh', 'nothing'],
  ['POST', '/api/auth/accept-invitation', 'nothing'],
  ['POST', '/api/auth/me', 'token'],
  ['PATCH', '/api/auth/me', 'token'],
  ['GET', '/api/auth/sessions', 'token'],
  ['POST', '/api/auth/sessions/end', 'token'],
  ['POST', '/api/auth/password', 'token'],
  ['POST', '/api/auth/logout', 'token'],
  ['GET', '/rest/users', 'read'],
  ['POST', '/rest/users', 'write'],
  ['GET', '/rest/users/{id}', 'read'],
  ['PATCH', '/rest/users/{id}', 'write'],
  ['DELETE', '/rest/users/{id}', 'write'],
  ['GET', '/rest/invitations', 'read', 'users'],
  ['POST', '/rest/invitations', 'write', 'users'],
  ['DELETE', '/rest/invitations/{id}', 'write', 'users'],
  ['GET', '/rest/roles', 'read'],
  ['POST', '/rest/roles', 'write'],
  ['GET', '/rest/roles/{id}', 'read'],
  ['PUT', '/rest/roles/{id}', 'write'],
  ['PATCH', '/rest/roles/{id}', 'write'],
  ['DELETE', '/rest/roles/{id}', 'write'],
  ['POST', '/rest/roles/{id}/explain', 'read'],
  ['GET', '/api/auth/tokens', 'read', 'tokens'],
  ['POST', '/api/auth/tokens', 'write', 'tokens'],
  ['DELETE', '/api/auth/tokens/{id}', 'write', 'tokens'],
  ['GET', '/rest/workspaces', 'read'],
  ['GET', '/rest/workspaces/{id}', 'read'],
  ['PATCH', '/rest/workspaces/{id}', 'write'],
  ['GET', '/rest/audit', 'read'],
]

const [POSTED_TO, ...ALIASES] = MESSAGE_PATHS

function webhookOf({ name, inbound }: Provider): Line[] {
  if (inbound === undefined) return []
  const methods = inbound.handshake === undefined ? ['POST'] : ['GET', 'POST']
  return methods.map((method) => [method, `/api/hooks/${name}/{slug}/{channelExtId}`, 'nothing'])
}

const WEBHOOK: Line[] = [
  ['POST', POSTED_TO, 'write', 'messages'],
  ...ALIASES.map((path): Line => ['POST', path, 'write', 'messages', POSTED_TO]),
  ...allProviders().flatMap(webhookOf),
  ['GET', '/rest/hooks', 'read', 'channels'],
  ['GET', '/asyncapi.json', 'nothing'],
]

const ofAssistant = ([name, access]: [string, Access]): Line[] => [
  ['POST', `/rest/assistant/{id}/${name}`, access],
  ['POST', `/rest/assistants/{id}/${name}`, access, 'assistant', `/rest/assistant/{id}/${name}`],
]

const DISPATCHER: Line[] = [
  ['GET', '/rest/messages', 'read'],
  ['GET', '/rest/messages/{id}', 'read'],
  ['GET', '/rest/messages/{id}/audio', 'read'],
  ['GET', '/rest/messages/{id}/media', 'read'],
  ['GET', '/rest/messages/conservation', 'read'],
  ['GET', '/rest/messages/traffic', 'read'],
  ['GET', '/rest/messages/waiting', 'read'],
  ['POST', '/rest/messages/replay', 'write'],
  ['POST', '/rest/messages/{id}/replay', 'write'],
  ['GET', '/rest/events', 'read', 'messages'],
  ['GET', '/rest/threads/{extId}/events', 'read'],
  ...Object.entries({ prompt: 'read', try: 'write' } as const).flatMap(ofAssistant),
  ['GET', '/rest/usage', 'read'],
  ['GET', '/rest/channels/{id}/notices', 'read'],
  ['GET', '/rest/subscriptions/{id}/deliveries', 'read'],
  ['GET', '/rest/subscriptions/{id}/deliveries/{delivery}', 'read'],
  ['POST', '/rest/subscriptions/{id}/deliveries/{delivery}/replay', 'write'],
  ['POST', '/rest/subscriptions/{id}/replay', 'write'],
  ['POST', '/rest/subscriptions/{id}/test', 'write'],
  ['GET', '/rest/threads', 'read'],
  ['GET', '/rest/threads/{id}', 'read'],
  ['PATCH', '/rest/threads/{id}', 'write'],
  ['DELETE', '/rest/threads/{id}', 'write'],
  ['GET', '/rest/threads/{id}/messages', 'read'],
  ['POST', '/rest/threads/{id}/messages', 'write'],
]

const GATEWAY: Line[] = [
  ['GET', '/health/live', 'nothing'],
  ['GET', '/health/ready', 'nothing'],
  ['GET', '/openapi.json', 'nothing'],
  ['GET', '/openapi-3.0.json', 'nothing'],
  ['GET', '/docs', 'nothing'],
]

const operationsOf = (service: PermissionOperation['service'], lines: Line[]): PermissionOperation[] =>
  lines.map(([method, path, access, resource = path.split('/')[2] ?? '', aliasOf]) => ({
    method,
    path,
    resource,
    access,
    ...defined({ aliasOf }),
    service,
  }))

/** Every operation that the gateway lets in. */
export const operations: readonly PermissionOperation[] = [
  ...operationsOf('gateway', GATEWAY),
  ...operationsOf('identity', IDENTITY),
  ...operationsOf('configuration', [
    ...CONFIGURATION_RESOURCES.flatMap(collection),
    ...Object.entries(RESOURCE_ALIASES).flatMap(aliased),
    ...TRANSFER,
  ]),
  ...operationsOf('webhook', WEBHOOK),
  ...operationsOf('dispatcher', DISPATCHER),
]
