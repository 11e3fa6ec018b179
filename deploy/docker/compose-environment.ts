import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets, publicKey, publicKeys, type Secrets } from '@parley/local/system/secrets'
import { SERVICES } from '@parley/shared/internal-token'
import { parse } from 'yaml'
import { z } from 'zod'

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
      deploy: z
        .looseObject({ resources: z.looseObject({ limits: z.record(z.string(), z.unknown()) }) })
        .optional(),
    }),
  ),
  configs: z.record(z.string(), z.object({ content: z.string() })).default({}),
})

const PASSWORD_BYTES = 24
const SERVER_PASSWORDS = [
  ...['MONGO_KEY', 'MONGO_ADMIN_PASSWORD', 'GRAFANA_PASSWORD'],
  ...['IDENTITY', 'WEBHOOK', 'CONFIGURATION', 'DISPATCHER', 'CAMPAIGNS'].map(
    (name) => `${name}_MONGO_PASSWORD`,
  ),
  ...['WEBHOOK', 'CONFIGURATION', 'DISPATCHER', 'CAMPAIGNS'].map((name) => `${name}_AMQP_PASSWORD`),
  ...['GATEWAY', 'IDENTITY', 'WEBHOOK', 'DISPATCHER'].map((name) => `${name}_REDIS_PASSWORD`),
]

/** Every variable that docker-compose.yml asks for: the secrets, and the settings to look at. */
export function composeEnvironment(secrets: Secrets): Record<string, string> {
  const keys = Object.entries(secrets.serviceKeys).map(
    ([name, key]) => [`${name.toUpperCase()}_KEY`, JSON.stringify(key)] as const,
  )
  return {
    PORT: '8080',
    MEMORY: 'default',
    BASE_DOMAIN: 'parley.localhost',
    PUBLIC_URL: 'http://127.0.0.1:8080',
    LOG_LEVEL: 'info',
    ...serverPasswords(),
    PEPPERS: secrets.peppers,
    KEY_ENCRYPTION_KEYS: secrets.keyEncryptionKeys,
    SECRET_KEYS: secrets.secretKeys,
    SIGNING_SECRET: secrets.signingSecret,
    SERVICE_JWKS: JSON.stringify(publicKeys(secrets)),
    ...Object.fromEntries(keys),
  }
}

/** The text of `.env`. Single quotes: nothing in a value is expanded. */
export function environmentFile(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('')
}

/**
 * Adds what an `.env` of an earlier version lacks: server passwords, and the keys of services, whose public parts are then
 * in `SERVICE_JWKS`. It changes nothing else in it.
 */
export function addMissing(text: string): { text: string; added: string[] } {
  const isMissing = (name: string) => !text.split('\n').some((line) => line.startsWith(`${name}=`))
  const made = makeSecrets()
  const services = SERVICES.filter((name) => isMissing(`${name.toUpperCase()}_KEY`))
  const serviceKeys = services.map((name) => [`${name.toUpperCase()}_KEY`, made.serviceKeys[name]] as const)
  const passwords = Object.entries(serverPasswords()).filter(([name]) => isMissing(name))
  const added = [...passwords, ...serviceKeys.map(([name, key]) => [name, JSON.stringify(key)] as const)]
  const known = services.map((name) => publicKey(made.serviceKeys[name]))
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return {
    text: withPublicKeys(before, known) + environmentFile(Object.fromEntries(added)),
    added: added.map(([name]) => name),
  }
}

/** An `.env` whose `SERVICE_JWKS` has further keys. */
function withPublicKeys(text: string, further: readonly object[]): string {
  if (further.length === 0) return text
  return text.replace(/^SERVICE_JWKS='(.*)'$/m, (_line, jwks: string) => {
    const { keys } = z.object({ keys: z.array(z.unknown()) }).parse(JSON.parse(jwks))
    return `SERVICE_JWKS='${JSON.stringify({ keys: [...keys, ...further] })}'`
  })
}

/** The password of each user at each server, and the key that MongoDB knows its own replica set by. All are new. */
function serverPasswords(): Record<string, string> {
  return Object.fromEntries(
    SERVER_PASSWORDS.map((name) => [name, randomBytes(PASSWORD_BYTES).toString('hex')]),
  )
}

/** Reads a file as Compose does with the values of an `.env`. Throws when it asks for one that is not there. */
export function readComposeFile(
  values: Record<string, string>,
  file = 'docker-compose.yml',
): z.output<typeof composeFile> {
  const text = readFileSync(join(CHECKOUT, file), 'utf8')
  const { services, ...others } = interpolated(parse(text, { merge: true }), values) as Tree
  const extended = Object.entries(services as Record<string, Tree>).map(([name, service]) => [
    name,
    'extends' in service ? withExtended(service, { values, folder: dirname(file) }) : service,
  ])
  return composeFile.parse({ ...others, services: Object.fromEntries(extended) })
}

type Tree = Record<string, unknown>

/** A service over the one that it extends. */
function withExtended(
  { extends: extended, ...own }: Tree,
  { values, folder }: { values: Record<string, string>; folder: string },
): Tree {
  const { file, service } = z.object({ file: z.string(), service: z.string() }).parse(extended)
  const base = readComposeFile(values, join(folder, file)).services[service]
  if (base === undefined) throw new Error(`There is no ${service} in ${file}`)
  return merged(base, own)
}

/** Maps by their keys, everything else as a whole. */
function merged(base: Tree, over: Tree): Tree {
  const isMap = (value: unknown): value is Tree =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const entries = Object.entries(over).map(([key, value]) => {
    const below = base[key]
    return [key, isMap(below) && isMap(value) ? merged(below, value) : value]
  })
  return { ...base, ...Object.fromEntries(entries) }
}

function interpolated(value: unknown, values: Record<string, string>): unknown {
  if (typeof value === 'string') return interpolate(value, values)
  if (Array.isArray(value)) return value.map((item) => interpolated(item, values))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, interpolated(item, values)]))
}

/** `${NAME:-default}` and `${NAME:?what to do}`, and `$$` for a dollar sign, as Compose has them. */
function interpolate(text: string, values: Record<string, string>): string {
  return text.replace(
    /\$\$|\$\{(\w+):(-|\?)([^}]*)\}/g,
    (found, name: string, kind: string, rest: string) => {
      if (found === '$$') return '$'
      const value = values[name] ?? (kind === '-' ? rest : undefined)
      if (value === undefined) throw new Error(`Compose asks for ${name}, which .env does not have`)
      return value
    },
  )
}
