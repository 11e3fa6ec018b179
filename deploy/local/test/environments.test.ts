import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { config as configuration } from '@parley/configuration/config'
import { config as dispatcher } from '@parley/dispatcher/config'
import { gatewayConfig as gateway } from '@parley/gateway/config'
import { identityConfig as identity } from '@parley/identity/config'
import { baseConfig, parseConfig } from '@parley/shared/config'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { config as webhook } from '@parley/webhook/config'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { renderEnvironmentPage } from '../../../docs/environment-page.ts'
import { composeEnvironment } from '../../docker/compose-environment.ts'
import { CHECKOUT } from '../src/checkout.ts'
import { planProcesses } from '../src/system/plan-processes.ts'
import { makeSecrets } from '../src/system/secrets.ts'

const shapes = { gateway, identity, webhook, configuration, dispatcher }

/** Parses an environment as the service would, and knows every key that is in it. */
const parse = (name: ServiceName, environment: Record<string, string>) =>
  z
    .strictObject({ ...baseConfig, ...shapes[name] })
    .safeParse(Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')))

describe('npm start gives each service an environment that it takes', () => {
  const ports = { gateway: 1, identity: 2, webhook: 3, configuration: 4, dispatcher: 5, simulator: 6 }
  const plans = planProcesses({
    ...{ directory: '/state', secrets: makeSecrets(), ports, copies: {}, metricsPorts: {}, logLevel: 'warn' },
    mongoUrl: 'mongodb://127.0.0.1:1/?replicaSet=rs0',
    amqpUrl: 'amqp://user:password@127.0.0.1:2',
    redisUrl: 'redis://127.0.0.1:3',
  })

  test.each(SERVICES)('%s', (name) => {
    // Of no use to the gateway, which has no database, and harmless there.
    const { MONGO_DATABASE, ...environment } = plans.find((plan) => plan.name === name)?.env ?? {}
    expect(parse(name, environment)).toMatchObject({ success: true })
    expect(MONGO_DATABASE).toBe(name)
  })
})

describe('Compose gives each service an environment that it takes', () => {
  const values = composeEnvironment(makeSecrets())
  const text = readFileSync(join(CHECKOUT, 'docker-compose.yml'), 'utf8')
  const { services } = z
    .object({
      services: z.record(
        z.string(),
        z.looseObject({ environment: z.record(z.string(), z.string()).optional() }),
      ),
    })
    .parse(parseYaml(text, { merge: true }))
  const environmentOf = (name: string) =>
    Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
        key,
        interpolate(value, values),
      ]),
    )

  test.each(SERVICES)('%s', (name) => {
    expect(parse(name, environmentOf(name))).toMatchObject({ success: true })
  })

  test.each(SERVICES)('%s takes it in production', (name) => {
    const { NODE_ENV, ...environment } = environmentOf(name)
    expect(NODE_ENV).toBe('production')
    const schema = z.object({ ...baseConfig, ...shapes[name] })
    expect(() => parseConfig(schema, { NODE_ENV: 'production', ...environment })).not.toThrow()
  })

  test('.env names nothing that Compose does not ask for', () => {
    for (const name of Object.keys(values)) expect(text).toContain(`\${${name}:`)
  })
})

test('docs/environment.md is what the services say of their environment (npm run docs writes it)', () => {
  expect(readFileSync(join(CHECKOUT, 'docs/environment.md'), 'utf8')).toBe(renderEnvironmentPage())
})

/** `${NAME:-default}` and `${NAME:?what to do}`, as Compose has them. */
function interpolate(text: string, values: Record<string, string>): string {
  return text.replace(/\$\{(\w+):(-|\?)([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const value = values[name] ?? (kind === '-' ? rest : undefined)
    if (value === undefined) throw new Error(`docker-compose.yml asks for ${name}, which .env does not have`)
    return value
  })
}
