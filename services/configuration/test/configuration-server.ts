import { type JsonRequest, type JsonResponse, sendJson } from '@parley/local/testing/send-json'
import { type Roles, type ServedRoles, serveRoles } from '@parley/local/testing/served-roles'
import { eventually, type RunningService } from '@parley/local/testing/service-under-test'
import { type Parley, type Proxied, startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import type { ServiceName } from '@parley/shared/internal-token'
import type { mongo } from 'mongoose'

interface CallOptions extends JsonRequest {
  /** A role's name; the first role of the workspace when left out. */
  role?: string
  workspace?: number
}

export interface ConfigurationServer {
  url: string
  /** The service's database. */
  database: mongo.Db
  proxies: Parley['proxies']
  /** Calls as an account of a workspace (1) in a role (WORKSPACE_ADMIN). */
  call(method: string, path: string, options?: CallOptions): Promise<JsonResponse>
  /** Calls as a service that speaks for itself. */
  callAs(
    service: ServiceName,
    path: string,
    options?: { method?: string; body?: unknown },
  ): Promise<JsonResponse>
  /** Starts a further instance on the same database; it is closed with the first one, or before. */
  startInstance(environment?: Record<string, string>): Promise<ConfigurationServer>
  close(): Promise<void>
}

interface Options {
  /** Beside the roles that every workspace has. */
  roles?: Roles
  /** Servers that it reaches through a proxy. Without `rabbitmq` it has no broker. */
  proxies?: Proxied[]
  environment?: Record<string, string>
}

/** The real service for the tests of a file. */
export const configurationForTests = (options?: Options): ConfigurationServer =>
  startedForTests(() => startConfiguration(options))

/** The real service on a free port with a database of its own; roles are served as identity serves them. */
export async function startConfiguration(options: Options = {}): Promise<ConfigurationServer> {
  const { proxies = [], environment } = options
  const identity = await serveRoles(options.roles)
  const broker = proxies.includes('rabbitmq') ? {} : { AMQP_URL: '' }
  const parley = await startParley({
    services: ['configuration'],
    proxies: { configuration: proxies },
    environment: { configuration: { IDENTITY_URL: identity.url, ...broker, ...environment } },
  })
  if (proxies.includes('rabbitmq')) await untilPublishing(parley)
  const close = async () => {
    await parley.close()
    await identity.close()
  }
  return { ...configurationServer(parley, parley.services.configuration, identity), close }
}

/** Waits until the instance knows where its publishing starts: earlier writes may be published twice. */
async function untilPublishing(parley: Parley): Promise<void> {
  const relays = parley.database('configuration').collection<{ _id: string }>('relays')
  await eventually(() => relays.findOne({ _id: 'events', from: { $exists: true } }))
}

function configurationServer(
  parley: Parley,
  service: RunningService,
  roles: ServedRoles,
): ConfigurationServer {
  const { proxies, authorization } = parley
  const { url, close } = service
  return {
    url,
    database: parley.database('configuration'),
    proxies,
    call: (method, path, { role, workspace, headers, ...request } = {}) => {
      const caller = roles.caller(role, workspace)
      const signed = { authorization: authorization('gateway', 'configuration', caller), ...headers }
      return sendJson(url + path, method, { ...request, headers: signed })
    },
    callAs: (name, path, { method = 'GET', body } = {}) =>
      sendJson(url + path, method, {
        ...(body === undefined ? {} : { body }),
        headers: { authorization: authorization(name, 'configuration') },
      }),
    startInstance: async (environment) => {
      const instance = await parley.start('configuration', environment)
      if (environment?.AMQP_URL) await untilPublishing(parley)
      return configurationServer(parley, instance, roles)
    },
    close,
  }
}
