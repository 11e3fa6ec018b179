import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { config } from '@parley/dispatcher/config'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { CHART } from '../src/render.ts'
import { readSchema, withSettings } from '../src/settings-schema.ts'

type Values = { [key: string]: Values | unknown }

const read = (path: string): Values => parse(readFileSync(join(CHART, path), 'utf8'))
const defaults = read('values.yaml')
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(readSchema())
const EXAMPLES = ['operators.yaml', 'keda-and-prometheus.yaml', 'managed.yaml', 'tls.yaml']
const example = merged(defaults, read('../examples/operators.yaml'))

/** As helm merges values: maps by their keys, everything else as a whole. */
function merged(base: Values, over: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const entries = Object.entries(over).map(([key, value]) => {
    const below = base[key]
    return [key, isMap(below) && isMap(value) ? merged(below, value) : value]
  })
  return { ...base, ...Object.fromEntries(entries) }
}

/** The values of `path=value`, over those of the example. */
function withValue(path: string, value: unknown): Values {
  const nested = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
  return merged(example, nested as Values)
}

const WRONG: [path: string, value: unknown, where: string][] = [
  ['publicUrl', '', '/publicUrl'],
  ['publicUrl', 'https://parley.example.com/api', '/publicUrl'],
  ['baseDomain', 'Parley.example.com', '/baseDomain'],
  ['ingres', { enabled: true }, ''],
  ['image.repository', 'registry.example.com/parley:1.0', '/image/repository'],
  ['services.gateway.replicas', 'two', '/services/gateway/replicas'],
  ['services.identity.autoscaling', { enabled: true }, '/services/identity'],
  ['services.identity.settings.PEPPERS', 'p1:secret', '/services/identity/settings'],
  ['services.dispatcher.settings.MODEL_API_KEY', 'sk-model', '/services/dispatcher/settings'],
  ['services.identity.settings.SMTP_URL', 'smtps://parley:secret@mail', '/services/identity/settings'],
  ['services.webhook.settings.LOG_LEVL', 'info', '/services/webhook/settings'],
  ['services.dispatcher.existingSecret', '', '/services/dispatcher/existingSecret'],
  ['settings.MESSAGES_KEPT_DAYS', 3, '/settings'],
  ['partitions', 0, '/partitions'],
  ['partitions', 129, '/partitions'],
  ['gatewayService.port', 0, '/gatewayService/port'],
  ['gatewayService.externalTrafficPolicy', 'local', '/gatewayService/externalTrafficPolicy'],
  ['tls.secretName', 'A Secret', '/tls/secretName'],
  ['tls.existingSecret', 'parley-tls', '/tls'],
  ['keyRotation.schedule', 'monthly', '/keyRotation/schedule'],
  ['networkPolicy.servers.redis.ports', ['6379'], '/networkPolicy/servers/redis/ports/0'],
]

describe('values.schema.json', () => {
  test.each(EXAMPLES)('takes the values of examples/%s', (name) => {
    validate(merged(example, read(`../examples/${name}`)))
    expect(validate.errors).toBeNull()
  })

  test.each(WRONG)('refuses %s = %j and says where it is', (path, value, where) => {
    expect(validate(withValue(path, value))).toBe(false)
    expect(validate.errors?.map(({ instancePath }) => instancePath)).toContain(where)
  })

  test('requires what there is no default for', () => {
    validate(defaults)
    expect(new Set(validate.errors?.map(({ instancePath }) => instancePath))).toEqual(
      new Set(['/publicUrl', '/baseDomain']),
    )
  })

  test('has the settings that the services take (npm run kubernetes -- render writes them)', () => {
    expect(withSettings(readSchema())).toEqual(readSchema())
  })
})

test('the chart’s partitions are as many as a new system gets', () => {
  expect(defaults.partitions).toBe(config.PARTITIONS.parse(undefined))
})
