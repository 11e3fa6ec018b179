import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { SERVICES } from '@parley/shared/internal-token'
import { findHelm } from '../src/find-helm.ts'
import { CHART, documentsIn, runHelm } from '../src/render.ts'
import { podSpecsIn } from './pods.ts'
import { schemaErrors } from './schemas.ts'

const rendered = documentsIn(
  await runHelm(await findHelm(), ['operators.yaml', 'keda-and-prometheus.yaml', 'tls.yaml']),
)
const ofKind = (kind: string) => rendered.filter((resource) => resource.kind === kind)

test('with TLS every object is valid', async () => {
  for (const resource of rendered) expect(await schemaErrors(resource)).toEqual([])
})

test('with TLS every service is served, called and probed by it, with the files of the Secret', () => {
  const deployments = ofKind('Deployment')
  expect(deployments).toHaveLength(SERVICES.length)
  for (const deployment of deployments) {
    const [spec] = podSpecsIn(deployment)
    const [container] = spec!.containers
    const env = new Map(container!.env.map(({ name, value }) => [name, value]))
    const urls = [...env].filter(([name]) => /^[A-Z]+_URL$/.test(name) && name !== 'PUBLIC_URL')
    for (const [, url] of urls) expect(url).toMatch(/^https:\/\/parley-\w+:8080$/)
    expect([env.get('TLS_CERT_FILE'), env.get('TLS_KEY_FILE'), env.get('TLS_CA_FILE')]).toEqual([
      '/run/secrets/parley/tls.crt',
      '/run/secrets/parley/tls.key',
      urls.length > 0 ? '/run/secrets/parley/ca.crt' : undefined,
    ])
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container).toHaveProperty(`${probe}.httpGet.scheme`, 'HTTPS')
    expect(JSON.stringify(spec)).toContain(
      JSON.stringify({
        name: 'parley-services-tls',
        items: ['tls.crt', 'tls.key', 'ca.crt'].map((key) => ({ key, path: key })),
      }),
    )
  }
})

test('with TLS Prometheus scrapes by it, and an ingress controller is told of it', () => {
  expect(ofKind('PodMonitor')).toMatchObject([
    {
      spec: {
        podMetricsEndpoints: [
          {
            scheme: 'https',
            tlsConfig: {
              serverName: 'parley-gateway',
              ca: { secret: { name: 'parley-services-tls', key: 'ca.crt' } },
            },
          },
        ],
      },
    },
  ])
  for (const service of ofKind('Service')) expect(service).toHaveProperty('spec.ports.0.appProtocol', 'https')
})

test('the certificate of the example is for the names of all services', () => {
  const certificates = documentsIn(readFileSync(join(CHART, '../examples/certificate.yaml'), 'utf8'))
  const names = SERVICES.map((name) => `parley-${name}`)
  const own = certificates.filter(({ metadata }) => metadata.name === 'parley-services-tls')
  expect(own).toMatchObject([
    { spec: { secretName: 'parley-services-tls', dnsNames: expect.arrayContaining(names) } },
  ])
})
