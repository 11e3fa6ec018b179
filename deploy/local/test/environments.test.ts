import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { config as campaigns } from '@parley/campaigns/config'
import { config as configuration } from '@parley/configuration/config'
import { config as dispatcher } from '@parley/dispatcher/config'
import { gatewayConfig as gateway } from '@parley/gateway/config'
import { identityConfig as identity } from '@parley/identity/config'
import { baseConfig, parseConfig } from '@parley/shared/config'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { heapArguments, heapLimitMib, MEMORY, type Memory, memoryBound, sizesOf } from '@parley/shared/memory'
import { environmentFor } from '@parley/shared/serve'
import { config as webhook } from '@parley/webhook/config'
import { z } from 'zod'
import { renderEnvironmentPage } from '../../../docs/environment-page.ts'
import { renderTimesPage } from '../../../docs/times-page.ts'
import {
  addMissing,
  composeEnvironment,
  environmentFile,
  readComposeFile,
} from '../../docker/compose-environment.ts'
import { CHECKOUT } from '../src/checkout.ts'
import { planProcesses } from '../src/system/plan-processes.ts'
import { makeSecrets } from '../src/system/secrets.ts'

const shapes = { gateway, identity, webhook, configuration, dispatcher, campaigns }

/** Parses an environment as the service would, and knows every key that is in it, but for Node's own. */
const parse = (name: ServiceName, { NODE_OPTIONS: _ofNode, ...environment }: Record<string, string>) =>
  z
    .strictObject({ ...baseConfig, ...shapes[name] })
    .safeParse(Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')))

describe('npm start gives each service a valid environment', () => {
  const ports = {
    ...{ gateway: 1, identity: 2, webhook: 3, configuration: 4, dispatcher: 5, campaigns: 6 },
    ...{ simulator: 7, 'model-simulator': 8 },
  }
  const settings = {
    ...{
      directory: '/state',
      secrets: makeSecrets(),
      ports,
      instances: {},
      metricsPorts: {},
      logLevel: 'warn',
      memory: 'small' as const,
    },
    mongoUrl: 'mongodb://127.0.0.1:1/?replicaSet=rs0',
    amqpUrl: 'amqp://user:password@127.0.0.1:2',
    redisUrl: 'redis://127.0.0.1:3',
  }
  const plans = planProcesses(settings)
  const environmentOf = (name: ServiceName) => plans.find((plan) => plan.name === name)?.env ?? {}

  test.each(SERVICES)('%s', (name) => {
    // Of no use to the gateway, which has no database, and harmless there.
    const { MONGO_DATABASE, ...environment } = environmentOf(name)
    expect(parse(name, environment)).toMatchObject({ success: true })
    expect(MONGO_DATABASE).toBe(name)
  })

  test.each(SERVICES)('%s the same one in a process with the others', (name) => {
    const [together, ...others] = planProcesses(settings, true)
    expect(together?.listeners).toEqual(
      SERVICES.flatMap((one) => plans.find((plan) => plan.name === one)?.listeners),
    )
    expect(others.map((plan) => plan.name)).toEqual(['simulator', 'model-simulator'])
    expect(environmentFor(name, together?.env ?? {})).toMatchObject(environmentOf(name))
  })
})

const MIB_OF = { m: 1, g: 1_024 }

/** Expects processes with the heap of a setting, MongoDB with its cache, and containers that have room for both. */
function expectSizes(
  services: ReturnType<typeof readComposeFile>['services'],
  memory: Memory,
  processes: readonly string[],
): void {
  const boundOf = (name: string) => {
    const text = String(services[name]?.deploy?.resources.limits.memory)
    return Number.parseInt(text, 10) * MIB_OF[text.at(-1) as keyof typeof MIB_OF]
  }
  for (const name of processes) {
    expect(services[name]?.environment).toMatchObject({
      MEMORY: memory,
      NODE_OPTIONS: heapArguments(memory).join(' '),
    })
    expect(boundOf(name)).toBeGreaterThanOrEqual(memoryBound(memory, heapLimitMib(memory)).atMostMib)
  }
  const { mongoCacheGb } = sizesOf(memory)
  expect(services.mongo?.environment.CACHE_GB).toBe(String(mongoCacheGb))
  expect(boundOf('mongo')).toBeGreaterThanOrEqual(mongoCacheGb * 1_024 + 256)
}

describe('Compose gives each service a valid environment', () => {
  const values = composeEnvironment(makeSecrets())
  const text = readFileSync(join(CHECKOUT, 'docker-compose.yml'), 'utf8')
  const { services } = readComposeFile(values)
  const environmentOf = (name: string) => services[name]?.environment ?? {}

  test.each(SERVICES)('%s', (name) => {
    expect(parse(name, environmentOf(name))).toMatchObject({ success: true })
  })

  test.each(SERVICES)('%s accepts it in production', (name) => {
    const { NODE_ENV, ...environment } = environmentOf(name)
    expect(NODE_ENV).toBe('production')
    const schema = z.object({ ...baseConfig, ...shapes[name] })
    expect(() => parseConfig(schema, { NODE_ENV: 'production', ...environment })).not.toThrow()
  })

  const small = readComposeFile(values, 'docker-compose.small.yml').services

  test.each(SERVICES)('%s the same one where one process hosts all, but for addresses and sizes', (name) => {
    const { NODE_ENV, ...environment } = environmentFor(name, small.parley?.environment ?? {})
    expect(NODE_ENV).toBe('production')
    const schema = z.object({ ...baseConfig, ...shapes[name] })
    expect(() => parseConfig(schema, { NODE_ENV, ...environment })).not.toThrow()
    const differing =
      /^(MEMORY|NODE_OPTIONS|HOST|PORT|METRICS_PORT|(IDENTITY|WEBHOOK|CONFIGURATION|DISPATCHER|CAMPAIGNS|GATEWAY)_URL)$/
    const same = Object.entries(environmentOf(name)).filter(([key]) => !differing.test(key))
    expect({ NODE_ENV, ...environment }).toMatchObject(Object.fromEntries(same))
  })

  test('one process that hosts all is sized as MEMORY=small, and none of the others runs', () => {
    expect(small.parley?.command).toEqual(['services/server.ts'])
    expectSizes(small, 'small', ['parley'])
    for (const name of SERVICES) expect(small[name]).toMatchObject({ profiles: ['separate'] })
  })

  test.each(MEMORY)(
    'MEMORY=%s sizes the heap of every process and MongoDB’s cache, inside their bounds',
    (memory) => {
      const sized = readComposeFile({ ...values, ...(memory !== 'default' && { MEMORY: memory }) })
      expectSizes(sized.services, memory, SERVICES)
    },
  )

  test('a MEMORY that there is not is refused', () => {
    expect(() => readComposeFile({ ...values, MEMORY: 'tiny' })).toThrow('service-tiny')
  })

  test('.env has only variables that Compose uses', () => {
    for (const name of Object.keys(values)) expect(text).toContain(`\${${name}:`)
  })

  test('no two users of the servers have the same password, and no two .env files', () => {
    const passwords = (all: Record<string, string>) =>
      Object.entries(all).flatMap(([name, value]) => (/_PASSWORD$|^MONGO_KEY$/.test(name) ? [value] : []))
    const both = [...passwords(values), ...passwords(composeEnvironment(makeSecrets()))]
    expect(both).toHaveLength(32)
    expect(new Set(both).size).toBe(both.length)
    for (const password of both) expect(password).toMatch(/^[0-9a-f]{48}$/)
  })

  test('an .env of an earlier version gets the passwords that it lacks, and stays the same otherwise', () => {
    const earlier = environmentFile({ ...values, WEBHOOK_AMQP_PASSWORD: 'mine' })
    const lines = earlier.split('\n').filter((line) => !line.startsWith('DISPATCHER_MONGO_PASSWORD='))
    const { text: later, added } = addMissing(lines.join('\n'))
    expect(added).toEqual(['DISPATCHER_MONGO_PASSWORD'])
    expect(later).toMatch(/\nDISPATCHER_MONGO_PASSWORD='[0-9a-f]{48}'\n$/)
    expect(later.split('\n').filter((line) => !line.startsWith('DISPATCHER_MONGO_PASSWORD='))).toEqual(lines)
    expect(addMissing(later)).toEqual({ text: later, added: [] })
  })

  test('an .env of before a service was there gets its key, which the others know', () => {
    const { CAMPAIGNS_KEY: _key, SERVICE_JWKS = '', ...earlier } = values
    const { keys } = JSON.parse(SERVICE_JWKS)
    const others = { keys: keys.filter(({ kid }: { kid: string }) => kid !== 'campaigns') }
    const before = { ...earlier, SERVICE_JWKS: JSON.stringify(others) }
    const { text: later, added } = addMissing(environmentFile(before))
    expect(added).toEqual(['CAMPAIGNS_KEY'])
    const now = parseEnv(later)
    const { d: _d, ...published } = JSON.parse(now.CAMPAIGNS_KEY ?? '')
    expect(now).toEqual({
      ...before,
      CAMPAIGNS_KEY: now.CAMPAIGNS_KEY,
      SERVICE_JWKS: JSON.stringify({ keys: [...others.keys, published] }),
    })
  })
})

test('docs/environment.md is what npm run docs writes from the services’ environments', () => {
  expect(readFileSync(join(CHECKOUT, 'docs/environment.md'), 'utf8')).toBe(renderEnvironmentPage())
})

test('docs/times.md is what npm run docs writes from the dispatcher’s times', () => {
  expect(readFileSync(join(CHECKOUT, 'docs/times.md'), 'utf8')).toBe(renderTimesPage())
})
