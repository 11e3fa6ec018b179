import type { Route } from '@parley/shared/openapi/route'
import { allProviders } from '@parley/shared/providers/registry'
import { readAsyncApi } from './asyncapi.ts'
import { type HookList, listHooks } from './hooks/routes.ts'
import { handshakeRoute } from './inbound/handshake.ts'
import { type ProviderIntake, receiveRoute } from './inbound/receive.ts'
import { type NativeIntake, receiveMessage } from './native/receive.ts'

/** The dependencies of all routes together. */
type WebhookDependencies = NativeIntake & ProviderIntake & HookList

/** Every public operation of this service, with those of the webhooks of all providers that there are by now. */
export const routes = (): readonly Route<WebhookDependencies>[] => [
  receiveMessage,
  ...allProviders().flatMap(({ name, inbound }) => {
    if (inbound === undefined) return []
    const { handshake } = inbound.documentation
    return [
      ...(handshake === undefined ? [] : [handshakeRoute(name, handshake)]),
      receiveRoute(name, inbound),
    ]
  }),
  ...[listHooks, readAsyncApi],
]
