import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets } from '@parley/local/system/secrets'
import { parseConfig } from '@parley/shared/config'
import { SERVICES } from '@parley/shared/internal-token'
import { z } from 'zod'
import { environmentOf } from '../../../docs/environment-page.ts'
import { composeEnvironment, readComposeFile } from '../../docker/compose-environment.ts'
import { findHelm } from '../src/find-helm.ts'
import { documentsIn, renderAll, resourcesOf } from '../src/render.ts'
import { kubernetesSecrets } from '../src/secrets.ts'
import { podSpecsIn } from './pods.ts'
import { schemaErrors } from './schemas.ts'

const values: Record<string, string> = { ...composeEnvironment(makeSecrets()), MODEL_API_KEY: 'sk-model' }
const addresses = {
  mongo: 'mongodb+srv://cluster.example.net/?retryWrites=true',
  amqp: 'amqps://broker.example.net:5671?cacertfile=/etc/parley/certificates/ca.crt',
  redis: 'rediss+cluster://cache.example.net:6379?cacertfile=/etc/parley/certificates/ca.crt',
  management: 'https://broker.example.net',
}
const secrets = kubernetesSecrets(values, addresses)
const contentOf = (name: string) => secrets.find(({ metadata }) => metadata.name === name)?.stringData ?? {}
const workloads = resourcesOf(await renderAll(await findHelm())).flatMap(({ file, resource }) =>
  podSpecsIn(resource).map((spec) => ({ file, name: resource.metadata.name, spec })),
)

const directory = mkdtempSync(join(tmpdir(), 'parley-secrets-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A container's environment, with the files of its Secrets where it can read them. */
function environmentIn({ spec }: (typeof workloads)[number]): Record<string, string> {
  for (const { projected } of spec.volumes)
    for (const { secret } of projected?.sources ?? [])
      for (const { key, path } of secret.items) {
        const value = contentOf(secret.name)[key]
        if (value !== undefined) writeFileSync(join(directory, path), value)
      }
  const entries = spec.containers[0]?.env.map(({ name, value }) => [
    name,
    value.replace('/run/secrets/parley', directory),
  ])
  return Object.fromEntries(entries ?? [])
}

test('each Secret is valid, and none has an empty value', async () => {
  for (const secret of secrets) {
    expect(await schemaErrors({ ...secret, metadata: { ...secret.metadata, annotations: {} } })).toEqual([])
    for (const value of Object.values(secret.stringData)) expect(value).not.toBe('')
  }
})

describe.each(SERVICES)('the Deployment and the Secret of %s', (service) => {
  const own = workloads.filter(({ name }) => name === `parley-${service}`)

  test('make an environment that it accepts in production', () => {
    expect(own).toHaveLength(2)
    for (const workload of own) {
      const config = parseConfig(z.object(environmentOf(service)), environmentIn(workload))
      expect(config).toMatchObject({
        NODE_ENV: 'production',
        HOST: '0.0.0.0',
        PORT: 8080,
        METRICS_PORT: 9464,
      })
    }
  })

  test('have no variable that it does not know, and no key that it does not mount', () => {
    for (const workload of own) {
      const names = Object.keys(environmentIn(workload)).filter(
        (name) => !/^NODE_(EXTRA_CA_CERTS|OPTIONS)$/.test(name),
      )
      expect(names.filter((name) => !(name.replace(/_FILE$/, '') in environmentOf(service)))).toEqual([])
      const mounted = names
        .filter((name) => name.endsWith('_FILE'))
        .map((name) => name.slice(0, -'_FILE'.length))
      const sources = workload.spec.volumes.flatMap(({ projected }) => projected?.sources ?? [])
      const keys = sources.flatMap(({ secret }) => Object.keys(contentOf(secret.name)))
      expect(mounted.toSorted()).toEqual(keys.toSorted())
    }
  })

  test('lead to the servers that were named, as its own user', () => {
    const { MONGO_URL, AMQP_URL, REDIS_URL } = contentOf(`parley-${service}`)
    for (const url of [MONGO_URL, AMQP_URL, REDIS_URL].filter((one) => one !== undefined))
      expect(url).toMatch(
        new RegExp(`^(mongodb\\+srv|amqps|rediss\\+cluster)://${service}:[0-9a-f]{48}@\\w+\\.example\\.net`),
      )
  })
})

test('an .env without a model’s API key makes no Secret for it, and the chart mounts one only where it is named', () => {
  const names = kubernetesSecrets({ ...values, MODEL_API_KEY: '' }, addresses).map(
    ({ metadata }) => metadata.name,
  )
  expect(names).toEqual(
    secrets.map(({ metadata }) => metadata.name).filter((name) => name !== 'parley-model'),
  )
  const mounting = workloads.filter((one) => 'MODEL_API_KEY_FILE' in environmentIn(one))
  expect(mounting.map(({ file, name }) => `${file} ${name}`)).toEqual([
    'managed/system/deployments.yaml parley-dispatcher',
  ])
})

test('the jobs find every key that they mount', () => {
  const jobs = workloads.filter(
    ({ file }) => file.startsWith('operators/before/') || file.endsWith('system/jobs.yaml'),
  )
  expect(jobs.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['parley-prepare-mongodb', 'parley-prepare-rabbitmq', 'parley-rotate-keys']),
  )
  // That of RabbitMQ's administrator is its operator's, or the provider's.
  for (const { spec } of jobs)
    for (const { projected } of spec.volumes)
      for (const { secret } of projected?.sources ?? [])
        if (!/default-user|rabbitmq-admin/.test(secret.name))
          for (const { key } of secret.items) expect(Object.keys(contentOf(secret.name))).toContain(key)
})

test('the same .env makes the same Secrets again', () => {
  expect(kubernetesSecrets(values, addresses)).toEqual(secrets)
})

test('Redis gets the users of docker-compose.yml, with `default` off', () => {
  const lines = contentOf('parley-redis-users')['users.acl']?.trim().split('\n') ?? []
  expect(lines.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
    'user default off',
    ...['health', 'gateway', 'identity', 'webhook', 'dispatcher'].map((name) => `user ${name} on`),
  ])
})

test('the Redis of examples/servers.yaml is started as that of docker-compose.yml, its bound of memory included', () => {
  const compose = (readComposeFile(values).services.redis?.command ?? []).join(' ').split(' --user ')[0]
  const servers = documentsIn(readFileSync(join(CHECKOUT, 'deploy/kubernetes/examples/servers.yaml'), 'utf8'))
  const statefulSet = servers.find(({ kind }) => kind === 'StatefulSet')
  const started = `${compose} --aclfile /etc/redis/users.acl`
  const containers = [{ name: 'redis', args: started.split(' ') }]
  expect(statefulSet).toMatchObject({ spec: { template: { spec: { containers } } } })
  expect(started).toContain('--maxmemory 600mb --maxmemory-policy volatile-ttl')
})
