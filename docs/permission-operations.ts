import { routes as ofCampaigns } from '@parley/campaigns/routes'
import { routes as ofConfiguration } from '@parley/configuration/routes'
import { routes as ofDispatcher } from '@parley/dispatcher/routes'
import { operations as ofGateway } from '@parley/gateway/openapi'
import { routes as ofIdentity } from '@parley/identity/routes'
import type { Operation } from '@parley/shared/openapi/operation'
import type { Access } from '@parley/shared/permission/decide'
import { routes as ofWebhook } from '@parley/webhook/routes'

/** Something that can be asked of the gateway, and what it takes. */
export interface PermissionOperation {
  method: string
  path: string
  /** The resource that a role decides about. */
  resource: string
  /** `nothing`: no token is looked at. `token`: whoever has one may, whatever their role. */
  access: Access | 'nothing' | 'token'
  /** The path of the operation that this one is another name for; it is described there. */
  aliasOf?: string
  service: 'identity' | 'configuration' | 'webhook' | 'dispatcher' | 'campaigns' | 'gateway'
}

/** Every public operation as its service describes it, by the service. */
export const services: Record<PermissionOperation['service'], readonly Operation[]> = {
  identity: ofIdentity,
  configuration: ofConfiguration,
  webhook: ofWebhook(),
  dispatcher: ofDispatcher,
  campaigns: ofCampaigns,
  gateway: ofGateway,
}

/** Every operation that the gateway lets in; those of a service under other names come after its own. */
export const operations: readonly PermissionOperation[] = Object.entries(services).flatMap(
  ([name, ofService]) => {
    const service = name as PermissionOperation['service']
    const aliases = ofService.flatMap((one) =>
      (one.aliases ?? []).map((path) => ({ ...permissionOf(one, service), path, aliasOf: one.path })),
    )
    return [...ofService.map((one) => permissionOf(one, service)), ...aliases]
  },
)

function permissionOf(
  { method, path, access, resource = path.split('/')[2] ?? '' }: Operation,
  service: PermissionOperation['service'],
): PermissionOperation {
  return { method, path, resource, access: access === 'optional' ? 'token' : access, service }
}
