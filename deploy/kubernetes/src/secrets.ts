import { createHmac } from 'node:crypto'
import { SERVICES } from '@parley/shared/internal-token'
import { z } from 'zod'
import { readComposeFile } from '../../docker/compose-environment.ts'

/** Where the servers are, without users: those are added for each service. */
interface ServerAddresses {
  mongo: string
  amqp: string
  redis: string
  /** Of RabbitMQ's management API. */
  management: string
}

interface Secret {
  apiVersion: 'v1'
  kind: 'Secret'
  metadata: { name: string; labels: Record<string, string> }
  stringData: Record<string, string>
}

const SCHEMES = { mongo: 'MONGO_URL', amqp: 'AMQP_URL', redis: 'REDIS_URL' } as const
const SECRET_KEYS = [
  ...['SERVICE_KEY', 'SERVICE_JWKS', 'PEPPERS', 'KEY_ENCRYPTION_KEYS', 'SIGNING_SECRET', 'SECRET_KEYS'],
  ...Object.values(SCHEMES),
]
/** KEDA's user of RabbitMQ: it sees how long the queues are, and can do nothing with them. */
const MONITOR = 'monitor'

const definitionsSchema = z.looseObject({
  users: z.array(z.looseObject({ name: z.string() })),
  permissions: z.array(z.looseObject({ user: z.string() })),
})

/**
 * The Secrets that the chart names by default, with the values of an `.env` and the users of docker-compose.yml; where the
 * `.env` has a model's API key, also `parley-model`; where it has SMTP_URL, `parley-mail`.
 */
export function kubernetesSecrets(values: Record<string, string>, at: ServerAddresses): Secret[] {
  const compose = readComposeFile(values)
  // Derived, so that it is the same each time.
  const monitorPassword = createHmac('sha256', values.SIGNING_SECRET ?? '')
    .update(MONITOR)
    .digest('hex')
  const services = SERVICES.map((name) => {
    const own = compose.services[name]?.environment ?? {}
    const entries = SECRET_KEYS.filter((key) => own[key] !== undefined).map((key) => [key, own[key]] as const)
    return secret(name, withAddresses(Object.fromEntries(entries) as Record<string, string>, at))
  })
  const {
    MONGO_URL: _url,
    MEMBER: _member,
    ADMIN_PASSWORD,
    ...mongoUsers
  } = compose.services['mongo-replica-set']?.environment ?? {}
  const dispatcher = services.find(({ metadata }) => metadata.name === 'parley-dispatcher')
  const smtpUrl = compose.services.identity?.environment?.SMTP_URL
  const modelKey = compose.services.dispatcher?.environment?.MODEL_API_KEY
  return [
    ...services,
    secret('mongodb-admin', { password: ADMIN_PASSWORD ?? '' }),
    secret('mongodb-users', { MONGO_URL: at.mongo, ...mongoUsers }),
    secret('rabbitmq-users', {
      MANAGEMENT_URL: at.management,
      AMQP_URL: dispatcher?.stringData.AMQP_URL ?? '',
      DEFINITIONS: definitions(compose.configs['rabbitmq-definitions']?.content ?? '', monitorPassword),
    }),
    secret('keda', { host: withUser(at.management, MONITOR, monitorPassword) }),
    secret('redis-users', { 'users.acl': redisUsers(compose.services.redis?.command ?? []) }),
    ...(modelKey ? [secret('model', { MODEL_API_KEY: modelKey })] : []),
    ...(smtpUrl ? [secret('mail', { SMTP_URL: smtpUrl })] : []),
  ]
}

function secret(name: string, stringData: Record<string, string>): Secret {
  const labels = { 'app.kubernetes.io/part-of': 'parley' }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: `parley-${name}`, labels }, stringData }
}

/** The same user and password at another address. */
function withAddresses(own: Record<string, string>, at: ServerAddresses): Record<string, string> {
  const moved = Object.entries(SCHEMES).flatMap(([server, key]) => {
    const [, user, password] = /^\w+:\/\/(\w+):(\w+)@/.exec(own[key] ?? '') ?? []
    if (user === undefined || password === undefined) return []
    return [[key, withUser(at[server as keyof typeof SCHEMES], user, password)] as const]
  })
  return { ...own, ...Object.fromEntries(moved) }
}

/** Passwords are hexadecimal, so nothing has to be escaped. */
function withUser(url: string, user: string, password: string): string {
  return url.replace('://', `://${user}:${password}@`)
}

/** Those of Compose, and KEDA's user. */
function definitions(content: string, password: string): string {
  const { users, permissions, ...others } = definitionsSchema.parse(JSON.parse(content))
  const nothing = { configure: '^$', write: '^$', read: '^$' }
  return JSON.stringify({
    ...others,
    users: [...users, { name: MONITOR, password, tags: ['monitoring'] }],
    permissions: [...permissions, { user: MONITOR, vhost: '/', ...nothing }],
  })
}

/** The users in redis-server's arguments, as lines of its ACL file. */
function redisUsers(command: string[]): string {
  const users = command.join(' ').split(' --user ').slice(1)
  return users.map((user) => `user ${user}\n`).join('')
}
