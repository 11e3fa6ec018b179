import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { memoryConfig } from './memory.ts'
import { amqpUrl, redisUrl, withoutTrailingSlashes } from './server-url.ts'

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' })
    return z.NEVER
  }
})

/** A public ES256 key as a JWK; its `kid` names it. */
export const publicJwk = z.looseObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  kid: z.string().min(1),
  x: z.string(),
  y: z.string(),
})

/** A whole number given as text, within bounds. */
export const integer = (options: { min: number; max: number }) =>
  z.coerce.number().int().min(options.min).max(options.max)

interface ProductionRule {
  /** Why production does not take what is set, or that nothing is; undefined when it does. */
  refuse(text: string | undefined): string | undefined
}

const productionRules = z.registry<ProductionRule>()

/** The schema, with what production does not take of it; elsewhere anything it parses will do. */
export function safeInProduction<S extends z.ZodType>(schema: S, refuse: ProductionRule['refuse']): S {
  productionRules.add(schema, { refuse })
  return schema
}

/** For what has a default, or none, that only a machine of one's own may have. */
export const requiredInProduction = (text: string | undefined): string | undefined =>
  text === undefined ? 'is required in production' : undefined

const FEWEST_BYTE_VALUES = 12

/** For secrets, as base64 or `id:base64[,id:base64…]`: 32 random bytes have about 30 different values. */
export function randomInProduction(text: string | undefined): string | undefined {
  if (text === undefined) return requiredInProduction(text)
  const keys = text.split(',').map((entry) => Buffer.from(entry.split(':').at(-1) ?? '', 'base64'))
  return keys.every((key) => new Set(key).size >= FEWEST_BYTE_VALUES) ? undefined : 'is not random'
}

/** The key of what is logged. */
export const loggingConfig = {
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe level that is logged'),
}

/** The keys of MongoDB, for a service whose database is called `database` when nothing else is set. */
export const mongoConfig = (database: string) => ({
  MONGO_URL: z.string().min(1).describe('MongoDB, a replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default(database).describe("The service's database"),
})

const AMQP = 'RabbitMQ, with user, password and virtual host; several hosts of a cluster by commas'
const REDIS = 'Redis, its Cluster or its Sentinels'

/** The key of RabbitMQ, for a service that needs it. */
export const amqpConfig = { AMQP_URL: amqpUrl.describe(AMQP) }

/** The key of RabbitMQ, for a service that goes on without it, as `without` says. */
export const optionalAmqpConfig = (without: string) => ({
  AMQP_URL: amqpUrl.optional().describe(`${AMQP}; without it ${without}`),
})

/** The key of Redis, for a service that needs it for `use`. */
export const redisConfig = (use: string) => ({ REDIS_URL: redisUrl.describe(`${REDIS}, ${use}`) })

/** The key of Redis, for a service that goes on without it, as `without` says. */
export const optionalRedisConfig = (use: string, without: string) => ({
  REDIS_URL: redisUrl.optional().describe(`${REDIS}, ${use}; without it ${without}`),
})

const serviceUrls = (service: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((url) => url.trim()))
    .pipe(z.array(z.url({ protocol: /^https?$/ }).transform((text) => new URL(text))).min(1))
    .describe(`URLs of the instances of ${service}, separated by commas; a name may stand for many`)

/** The keys of the services that a process calls: `<NAME>_URL` has the URLs of that service's instances. */
export function servicesConfig<N extends string>(...names: N[]) {
  const entries = names.map((name) => [`${name.toUpperCase()}_URL`, serviceUrls(name)])
  const urls = Object.fromEntries(entries) as {
    [Key in `${Uppercase<N>}_URL`]: ReturnType<typeof serviceUrls>
  }
  const TLS_CA_FILE = z
    .string()
    .optional()
    .describe(
      'PEM file with the CAs that are trusted when services are called by https URLs, and no others; read again when it ' +
        'changes; those that Node trusts when not set',
    )
  return { ...urls, TLS_CA_FILE }
}

/** The key of the gateway's own address as others see it; without a slash at its end. */
export const publicUrlConfig = (use: string) => ({
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform(withoutTrailingSlashes)
    .optional()
    .describe(`Where callers and providers reach the gateway; ${use}`),
})

/** The key of the longest time that a request's body takes to arrive. */
export const bodyTimeoutConfig = (more = '') => ({
  BODY_TIMEOUT_MS: integer({ min: 100, max: 110_000 })
    .default(30_000)
    .describe(`How long a body may take to arrive, in milliseconds${more}`),
})

/** The keys that every process reads. */
export const baseConfig = {
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development').describe('Mode'),
  ...loggingConfig,
  ...memoryConfig,
  HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  PORT: integer({ min: 0, max: 65_535 }).describe('Port to listen on; 0 takes a free one'),
  DRAIN_SECONDS: integer({ min: 0, max: 15 })
    .optional()
    .describe(
      'How long it goes on taking requests after SIGTERM, no longer live nor ready, so that whoever shares them out ' +
        'notices; 3 in production and 0 elsewhere when not set',
    ),
  TLS_CERT_FILE: z
    .string()
    .optional()
    .describe(
      'PEM file with the certificate, and those between it and its CA, to serve HTTPS with in place of HTTP, metrics ' +
        'included; read again when it changes',
    ),
  TLS_KEY_FILE: z.string().optional().describe('PEM file with its private key; required with TLS_CERT_FILE'),
  METRICS_PORT: integer({ min: 0, max: 65_535 })
    .optional()
    .describe('Port of /metrics, at the same address; no metrics are served when not set'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where traces go, by OTLP over HTTP: http://collector:4318; none when not set'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of the traces that begin here which are exported'),
  SERVICE_KEY: json
    .pipe(publicJwk.extend({ d: z.string() }))
    .describe("This process's private ES256 key as a JWK; its kid is the service's name"),
  SERVICE_JWKS: json
    .pipe(z.object({ keys: z.array(publicJwk).min(1) }))
    .describe('The public keys of all services as a JWK set'),
}

export type PublicJwk = z.output<typeof publicJwk>
export type BaseConfig = z.output<z.ZodObject<typeof baseConfig>>

/** A service's environment did not parse; the message lists every wrong key. */
export class ConfigError extends Error {}

/**
 * Parses the environment once; an empty value counts as not set, and `<key>_FILE` names a file with the value of
 * any key. Throws {@link ConfigError} that lists all wrong
 * keys, without their values.
 */
export function parseConfig<S extends z.ZodObject>(schema: S, environment: NodeJS.ProcessEnv): z.output<S> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const { env, unread } = withFiles(Object.keys(schema.shape), given)
  const result = schema.safeParse(env)
  const issues = (result.error?.issues ?? []).map(({ path, message }) => ({ key: path.join('.'), message }))
  const wrong = [...unread, ...issues.filter(({ key }) => !unread.some((one) => one.key === `${key}_FILE`))]
  const unsafe = env.NODE_ENV === 'production' ? unsafeKeys(schema, env) : []
  const others = unsafe.filter(({ key }) => !wrong.some((one) => one.key === key))
  const lines = [...wrong, ...others].map(({ key, message }) => `${key}: ${message}`)
  if (result.success && lines.length === 0) return result.data
  throw wrongConfig(...lines)
}

/** The error of a configuration with these mistakes, each with its key. */
export function wrongConfig(...mistakes: string[]): ConfigError {
  return new ConfigError(['The configuration is wrong:', ...mistakes].join('\n  '))
}

/** The environment with what is in the files that `<key>_FILE` names, without the line break at their end. */
function withFiles(keys: string[], given: NodeJS.Dict<string>) {
  const env = { ...given }
  const unread: { key: string; message: string }[] = []
  for (const key of keys) {
    const file = given[`${key}_FILE`]
    if (file === undefined) continue
    try {
      if (given[key] !== undefined) throw new Error(`is set, and ${key} as well`)
      env[key] = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      unread.push({ key: `${key}_FILE`, message: code === undefined ? message : `can not be read (${code})` })
    }
  }
  return { env, unread }
}

function unsafeKeys(schema: z.ZodObject, env: NodeJS.Dict<string>): { key: string; message: string }[] {
  return Object.entries(schema.shape).flatMap(([key, own]) => {
    const message = productionRules.get(own as z.ZodType)?.refuse(env[key])
    return message === undefined ? [] : [{ key, message }]
  })
}
