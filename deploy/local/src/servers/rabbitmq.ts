import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { type Engine, planContainer } from './container-server.ts'
import { findBinary } from './find-binary.ts'
import { startNativeServer } from './native-server.ts'
import { planExternalServer, type Server, type ServerContext, type ServerPlan } from './server.ts'

const IMAGE = 'rabbitmq:4.1'
const CHECK_MS = 5_000
// The one in /usr/sbin would switch to another user.
const FOLDERS = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin']
const USER = 'parley'
// Quorum queues keep their log in memory until this much is written; RabbitMQ's own default is 512 MiB.
const WAL_BYTES = 32 * 1024 * 1024

/** RabbitMQ: `AMQP_URL`, a Docker engine, or `rabbitmq-server` on this machine. */
export function planRabbitmq(
  context: ServerContext,
  options: { engine: Engine | undefined; vhosts: string[] },
): ServerPlan {
  const external = process.env.AMQP_URL
  if (external) {
    return planExternalServer({ name: 'RabbitMQ', variable: 'AMQP_URL', url: external, check: checkBroker })
  }
  const directory = join(context.directory, 'rabbitmq')
  const { engine, vhosts } = options
  if (engine) return planBrokerContainer({ context, engine, directory, vhosts })
  return {
    packages: findBinary('rabbitmq-server', FOLDERS) ? [] : ['rabbitmq-server'],
    prepare: async () => undefined,
    start: async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const definitionsPath = join(directory, 'definitions.json')
      const settings = await readBrokerSettings({ directory, vhosts, definitionsPath })
      return startNativeBroker({ directory, settings, ports: context.ports, signal: context.signal })
    },
  }
}

/** Starts `rabbitmq-server` on this machine with definitions of the caller's; `user` is one that is in them. */
export async function startNativeBroker(options: {
  directory: string
  settings: BrokerSettings
  /** `amqp`, `amqp-distribution` and `amqp-epmd`. */
  ports: Record<string, number>
  /** The node's, without its host; one on this machine may have the same where their epmd differ. */
  nodeName?: string
  signal: AbortSignal
}): Promise<Server> {
  const { directory, settings, ports, nodeName = 'parley', signal } = options
  await writeFile(join(directory, 'rabbitmq.conf'), settings.configuration)
  await writeFile(join(directory, 'definitions.json'), settings.definitions, { mode: 0o600 })
  await writeFile(join(directory, 'enabled_plugins'), `[${settings.plugins ?? ''}].\n`)
  const url = brokerUrl(settings, ports.amqp as number)
  return startNativeServer({
    name: 'RabbitMQ',
    url,
    source: 'rabbitmq-server on this machine',
    directory,
    logFile: join(directory, 'console.log'),
    command: findBinary('rabbitmq-server', FOLDERS) ?? 'rabbitmq-server',
    args: [],
    env: brokerEnvironment(directory, ports, nodeName),
    isReady: () => acceptsConnections(url),
    signal,
  })
}

function planBrokerContainer(options: {
  context: ServerContext
  engine: Engine
  directory: string
  vhosts: string[]
}): ServerPlan {
  const { context, engine, directory, vhosts } = options
  const port = context.ports.amqp as number
  const definitionsPath = '/etc/rabbitmq/definitions.json'
  return planContainer({ name: 'RabbitMQ', image: IMAGE, engine, context, port }, async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const settings = await readBrokerSettings({ directory, vhosts, definitionsPath })
    const configuration = `${settings.configuration}listeners.tcp.default = ${port}\n`
    const url = brokerUrl(settings, port)
    return {
      url,
      isReady: () => acceptsConnections(url),
      command: ['rabbitmq-server'],
      data: { folder: 'rabbitmq', target: '/var/lib/rabbitmq' },
      files: [
        { target: '/etc/rabbitmq/conf.d/30-parley.conf', content: configuration },
        { target: definitionsPath, content: settings.definitions },
      ],
    }
  })
}

function brokerUrl(settings: BrokerSettings, port: number): string {
  return `amqp://${settings.user}:${settings.password}@127.0.0.1:${port}`
}

/** Everything of its own: name, ports, folders, cookie and epmd, so that any number run side by side. */
function brokerEnvironment(
  directory: string,
  ports: Record<string, number>,
  nodeName: string,
): Record<string, string> {
  return {
    // Makes the start script become the broker, instead of a shell that waits for it: one process id.
    RUNNING_UNDER_SYSTEMD: 'true',
    RABBITMQ_NODENAME: `${nodeName}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(ports.amqp),
    RABBITMQ_DIST_PORT: String(ports['amqp-distribution']),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_PID_FILE: join(directory, 'pid'),
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'enabled_plugins'),
    HOME: directory,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(ports['amqp-epmd']),
  }
}

async function acceptsConnections(url: string): Promise<boolean> {
  await checkBroker(url)
  return true
}

async function checkBroker(url: string): Promise<void> {
  const connection = await connect(url, { timeout: CHECK_MS })
  connection.on('error', () => undefined)
  await connection.close()
}

export interface BrokerSettings {
  user: string
  password: string
  /** The text of rabbitmq.conf. */
  configuration: string
  /** The text of the definitions that it loads at its start. */
  definitions: string
  /** The plugins that are enabled, by commas; none by default. */
  plugins?: string
}

/** The settings of a private broker. Its password is made once and stored in `directory`. */
export async function readBrokerSettings(options: {
  directory: string
  vhosts: string[]
  /** Where the broker itself will find the definitions. */
  definitionsPath: string
}): Promise<BrokerSettings> {
  const password = await readPassword(join(options.directory, 'password'))
  return {
    user: USER,
    password,
    configuration: [
      `load_definitions = ${options.definitionsPath}`,
      'vm_memory_high_watermark.absolute = 1GB',
      'disk_free_limit.absolute = 50MB',
      `raft.wal_max_size_bytes = ${WAL_BYTES}`,
      'log.file.level = warning',
      '',
    ].join('\n'),
    definitions: JSON.stringify(definitions(password, ['/', ...options.vhosts]), null, 2),
  }
}

async function readPassword(file: string): Promise<string> {
  const stored = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f]{48}$/.test(stored)) return stored
  const password = randomBytes(24).toString('hex')
  await writeFile(file, password, { mode: 0o600 })
  return password
}

function definitions(password: string, vhosts: string[]) {
  return {
    users: [
      {
        name: USER,
        password_hash: hashPassword(password),
        hashing_algorithm: 'rabbit_password_hashing_sha256',
        tags: ['administrator'],
      },
    ],
    vhosts: vhosts.map((name) => ({ name })),
    permissions: vhosts.map((vhost) => ({ user: USER, vhost, configure: '.*', write: '.*', read: '.*' })),
  }
}

/** RabbitMQ's form: salt, then SHA-256 over salt and password. */
function hashPassword(password: string): string {
  const salt = randomBytes(4)
  const hash = createHash('sha256').update(salt).update(password).digest()
  return Buffer.concat([salt, hash]).toString('base64')
}
