import { join } from 'node:path'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { heapArguments, type Memory } from '@parley/shared/memory'
import { CHECKOUT } from '../checkout.ts'
import { publicKeys, type Secrets } from './secrets.ts'

const HOST = '127.0.0.1'

const SIMULATED_TOKENS_PER_DAY = '100000000'

/** The processes of a system, in the order in which they stop. */
export const PROCESSES = [
  'gateway',
  'identity',
  'webhook',
  'configuration',
  'dispatcher',
  'campaigns',
  'simulator',
  'model-simulator',
] as const
type ProcessName = (typeof PROCESSES)[number]
/** The processes that stand for providers: they have no metrics, and stop when all others have. */
export const SIMULATORS: readonly string[] = ['simulator', 'model-simulator']

/** The services that the gateway has in front of it. */
type UpstreamName = Exclude<ServiceName, 'gateway'>

/** An instance of a service other than the first, such as `dispatcher-2`. */
type FurtherInstance = `${ServiceName}-${number}`

/** How many instances of each service run; 1 by default. Who shares out calls among gateways is the caller's to start. */
export type InstanceCounts = Partial<Record<ServiceName, number>>

/** The instances other than the first of each service. */
export function furtherInstances(counts: InstanceCounts): { service: ServiceName; name: FurtherInstance }[] {
  return (Object.keys(counts) as ServiceName[]).flatMap((service) =>
    Array.from({ length: (counts[service] ?? 1) - 1 }, (_, at) => ({
      service,
      name: `${service}-${at + 2}` as const,
    })),
  )
}

/** The port of the proxy in front of a process, where there is one. */
export type FrontPorts = Partial<Record<ProcessName, number>>

/** A part of a process that listens at a port of its own. */
export interface Listener {
  name: ProcessName | FurtherInstance
  url: string
  /** Of its metrics; simulators have none. */
  metricsUrl?: string
}

export interface ProcessPlan {
  /** `services` of the process that hosts one of each. */
  name: ProcessName | FurtherInstance | 'services'
  script: string
  /** The parts that run in it: itself, or one of each service. */
  listeners: Listener[]
  env: Record<string, string>
  /** Node's own, before the script. */
  nodeArguments: string[]
}

interface SystemSettings {
  directory: string
  ports: Record<ProcessName, number> & Partial<Record<FurtherInstance, number>>
  instances: InstanceCounts
  /** Where others reach the first instance of a process, instead of at its own port. */
  inFront?: FrontPorts
  /** Where each service shows its metrics. */
  metricsPorts: Record<string, number>
  secrets: Secrets
  mongoUrl: string
  amqpUrl: string
  redisUrl: string
  /** The name of a service's database; the service's own when not given. */
  databaseOf?: (service: ServiceName) => string
  logLevel: string
  memory: Memory
  /** The root folder of the services' code; this checkout's when not given. */
  checkout?: string
}

/** Plans the processes to run, and their environments: one for each service, or `together` one for all. */
export function planProcesses(settings: SystemSettings, together = false): ProcessPlan[] {
  const services = SERVICES.map((name) => planService({ name, settings }))
  return [
    ...(together ? [hostAll(services, settings)] : services),
    planSimulator('simulator', settings, { DIRECTORY: join(settings.directory, 'simulator') }),
    planSimulator('model-simulator', settings),
  ]
}

/** One process, in whose environment each key has the name of its service in front. */
function hostAll(services: ProcessPlan[], { checkout = CHECKOUT, memory }: SystemSettings): ProcessPlan {
  const env = services.flatMap(({ name, env }) =>
    Object.entries(env).map(([key, value]) => [`${name.toUpperCase()}_${key}`, value]),
  )
  return {
    name: 'services',
    script: scriptOf('services', checkout),
    listeners: services.flatMap(({ listeners }) => listeners),
    env: { SERVICES: 'all', ...Object.fromEntries(env) },
    nodeArguments: heapArguments(memory),
  }
}

function planSimulator(
  name: 'simulator' | 'model-simulator',
  { ports }: SystemSettings,
  env: Record<string, string> = {},
): ProcessPlan {
  return {
    name,
    script: scriptOf(name),
    listeners: [{ name, url: urlOf(name, ports) }],
    env: { HOST, PORT: String(ports[name]), ...env },
    nodeArguments: [],
  }
}

/** The further instances; each differs from the first in its ports, and a dispatcher in its name. */
export function planInstances(settings: SystemSettings): ProcessPlan[] {
  return furtherInstances(settings.instances).map(({ service, name }) => {
    const ports = { ...settings.ports, [service]: settings.ports[name] ?? 0 }
    const metricsPorts = { [service]: settings.metricsPorts[name] ?? 0 }
    const plan = planService({ name: service, settings: { ...settings, ports, metricsPorts } })
    return {
      ...plan,
      name,
      listeners: plan.listeners.map((listener) => ({ ...listener, name })),
      env: { ...plan.env, ...(service === 'dispatcher' ? { INSTANCE_NAME: name } : {}) },
    }
  })
}

/** The file that a process runs. */
export function scriptOf(name: ProcessName | 'services', checkout = CHECKOUT): string {
  if (name === 'services') return join(checkout, 'services/server.ts')
  if (SIMULATORS.includes(name)) return join(checkout, 'deploy/local/src', name, 'server.ts')
  const folder = name === 'gateway' ? name : `services/${name}`
  return join(checkout, folder, 'src/server.ts')
}

function planService(options: { name: ServiceName; settings: SystemSettings }): ProcessPlan {
  const { name, settings } = options
  const metricsPort = settings.metricsPorts[name] ?? 0
  return {
    name,
    script: scriptOf(name, settings.checkout),
    listeners: [
      { name, url: urlOf(name, settings.ports), metricsUrl: `http://${HOST}:${metricsPort}/metrics` },
    ],
    env: {
      NODE_ENV: 'development',
      LOG_LEVEL: settings.logLevel,
      MEMORY: settings.memory,
      HOST,
      PORT: String(settings.ports[name]),
      METRICS_PORT: String(metricsPort),
      SERVICE_KEY: JSON.stringify(settings.secrets.serviceKeys[name]),
      SERVICE_JWKS: JSON.stringify(publicKeys(settings.secrets)),
      MONGO_DATABASE: settings.databaseOf?.(name) ?? name,
      ...ownEnvironment(name, { ...settings, ports: { ...settings.ports, ...settings.inFront } }),
    },
    nodeArguments: heapArguments(settings.memory),
  }
}

function ownEnvironment(name: ServiceName, settings: SystemSettings): Record<string, string> {
  const { ports, secrets } = settings
  const { mongoUrl: MONGO_URL, amqpUrl: AMQP_URL, redisUrl: REDIS_URL } = settings
  const IDENTITY_URL = urlsOf('identity', settings)
  const CONFIGURATION_URL = urlsOf('configuration', settings)
  const environments: Record<ServiceName, Record<string, string>> = {
    gateway: {
      REDIS_URL,
      IDENTITY_URL,
      CONFIGURATION_URL,
      WEBHOOK_URL: urlsOf('webhook', settings),
      DISPATCHER_URL: urlsOf('dispatcher', settings),
      CAMPAIGNS_URL: urlsOf('campaigns', settings),
    },
    identity: {
      MONGO_URL,
      REDIS_URL,
      PEPPERS: secrets.peppers,
      KEY_ENCRYPTION_KEYS: secrets.keyEncryptionKeys,
      BASE_DOMAIN: 'parley.localhost',
      PASSWORD_MIN_LENGTH: '1',
      SIMULATOR_URL: urlOf('simulator', ports),
    },
    webhook: {
      MONGO_URL,
      AMQP_URL,
      REDIS_URL,
      IDENTITY_URL,
      CONFIGURATION_URL,
      SIGNING_SECRET: secrets.signingSecret,
      SECRET_KEYS: secrets.secretKeys,
    },
    configuration: { MONGO_URL, AMQP_URL, IDENTITY_URL, SECRET_KEYS: secrets.secretKeys },
    dispatcher: {
      MONGO_URL,
      AMQP_URL,
      REDIS_URL,
      IDENTITY_URL,
      CONFIGURATION_URL,
      GATEWAY_URL: urlOf('gateway', ports),
      WEBHOOK_URL: urlOf('webhook', ports),
      SIGNING_SECRET: secrets.signingSecret,
      SECRET_KEYS: secrets.secretKeys,
      INSTANCE_NAME: 'dispatcher',
      UNCERTAIN_WINDOW_SECONDS: '10',
      ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128',
      MODEL_PROVIDER: 'openai-compatible',
      MODEL_NAME: 'simulator',
      MODEL_BASE_URL: `${urlOf('model-simulator', ports)}/v1`,
      MODEL_API_KEY: 'simulator',
      MODEL_REASONING: 'false',
      // The simulator's tokens cost nothing.
      MODEL_TOKENS_PER_DAY: process.env.MODEL_TOKENS_PER_DAY || SIMULATED_TOKENS_PER_DAY,
    },
    campaigns: {
      MONGO_URL,
      AMQP_URL,
      IDENTITY_URL,
      CONFIGURATION_URL,
      DISPATCHER_URL: urlsOf('dispatcher', settings),
      WEBHOOK_URL: urlOf('webhook', ports),
    },
  }
  return environments[name]
}

function urlsOf(service: UpstreamName, { ports, instances }: SystemSettings): string {
  const further = furtherInstances({ [service]: instances[service] ?? 1 })
  const all = [ports[service], ...further.map(({ name }) => ports[name] ?? 0)]
  return all.map((port) => `http://${HOST}:${port}`).join(',')
}

function urlOf(name: ProcessName, ports: Record<ProcessName, number>): string {
  return `http://${HOST}:${ports[name]}`
}
