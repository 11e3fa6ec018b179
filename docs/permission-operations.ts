import { routes as ofConfiguration } from '@parley/configuration/routes'
import { routes as ofDispatcher } from '@parley/dispatcher/routes'
import { operations as ofGateway } from '@parley/gateway/openapi'
import { routes as ofIdentity } from '@parley/identity/routes'
import { defined } from '@parley/shared/defined'
import type { Operation } from '@parley/shared/openapi/operation'
import type { Access } from '@parley/shared/permission/decide'
import { routes as ofWebhook } from '@parley/webhook/routes'

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
  service: keyof typeof services
}

/** Every public operation as its service describes it, by the service. */
export const services = {
  gateway: ofGateway,
  identity: ofIdentity,
  configuration: ofConfiguration,
  webhook: ofWebhook(),
  dispatcher: ofDispatcher,
} satisfies Record<string, readonly Operation[]>

/** What an operation of a service takes, under a path of its own or an alias of that. */
export function permissionOf(
  service: keyof typeof services,
  operation: Operation,
  aliasOf?: string,
): Omit<PermissionOperation, 'path'> {
  const { method, path, access, resource = path.split('/')[2] ?? '' } = operation
  return {
    ...{ method, resource, service },
    access: access === 'optional' ? 'token' : access,
    ...defined({ aliasOf }),
  }
}

/** Every operation that the gateway lets in; those of a service under other names come after its own. */
export const operations: readonly PermissionOperation[] = Object.entries(services).flatMap(
  ([name, all]: [string, readonly Operation[]]) => {
    const service = name as keyof typeof services
    return [
      ...all.map((one) => ({ ...permissionOf(service, one), path: one.path })),
      ...all.flatMap((one) =>
        (one.aliases ?? []).map((path) => ({ ...permissionOf(service, one, one.path), path })),
      ),
    ]
  },
)
