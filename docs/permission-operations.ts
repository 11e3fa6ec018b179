import type { Access } from '@parley/shared/permission/decide'

/** Something a caller can do, and the permission that it takes. */
export interface Operation {
  method: string
  path: string
  resource: string
  access: Access
  service: 'identity' | 'configuration' | 'webhook' | 'dispatcher'
}

type Line = [method: string, path: string, access: Access, resource?: string]

const CONFIGURATION = ['channels', 'tasks', 'steps', 'assistant', 'configs', 'actions', 'jobs', 'workflows']

const collection = (name: string): Line[] => [
  ['GET', `/rest/${name}`, 'read'],
  ['POST', `/rest/${name}`, 'write'],
  ['PUT', `/rest/${name}/{id}`, 'write'],
  ['PATCH', `/rest/${name}/{id}`, 'write'],
  ['DELETE', `/rest/${name}/{id}`, 'write'],
]

const IDENTITY: Line[] = [
  ['GET', '/rest/users', 'read'],
  ['POST', '/rest/users', 'write'],
  ['PATCH', '/rest/users/{id}', 'write'],
  ['DELETE', '/rest/users/{id}', 'write'],
  ['GET', '/rest/invitations', 'read', 'users'],
  ['POST', '/rest/invitations', 'write', 'users'],
  ['DELETE', '/rest/invitations/{id}', 'write', 'users'],
  ['GET', '/rest/roles', 'read'],
  ['POST', '/rest/roles', 'write'],
  ['PUT', '/rest/roles/{id}', 'write'],
  ['PATCH', '/rest/roles/{id}', 'write'],
  ['DELETE', '/rest/roles/{id}', 'write'],
  ['GET', '/api/auth/tokens', 'read', 'tokens'],
  ['POST', '/api/auth/tokens', 'write', 'tokens'],
  ['DELETE', '/api/auth/tokens/{id}', 'write', 'tokens'],
  ['GET', '/rest/workspaces', 'read'],
  ['PATCH', '/rest/workspaces/{id}', 'write'],
  ['GET', '/rest/audit', 'read'],
]

const MESSAGES: Line[] = [
  ['GET', '/rest/messages', 'read'],
  ['GET', '/rest/messages/{id}', 'read'],
  ['POST', '/rest/messages/replay', 'write'],
  ['POST', '/rest/messages/{id}/replay', 'write'],
]

const operationsOf = (service: Operation['service'], lines: Line[]): Operation[] =>
  lines.map(([method, path, access, resource = path.split('/')[2] ?? '']) => ({
    method,
    path,
    resource,
    access,
    service,
  }))

/** Every operation that a role decides about. */
export const operations: readonly Operation[] = [
  ...operationsOf('identity', IDENTITY),
  ...operationsOf('configuration', CONFIGURATION.flatMap(collection)),
  ...operationsOf('webhook', [['POST', '/api/hooks/whatsapp', 'write', 'messages']]),
  ...operationsOf('dispatcher', MESSAGES),
]
