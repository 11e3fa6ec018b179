import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { config } from '@parley/dispatcher/config'
import { CHECKOUT } from '@parley/local/checkout'
import { SERVICES } from '@parley/shared/internal-token'
import { heapArguments, heapLimitMib, MEMORY, type Memory, memoryBound, sizesOf } from '@parley/shared/memory'
import { parse } from 'yaml'
import { environmentOf } from '../../../docs/environment-page.ts'
import { findHelm } from '../src/find-helm.ts'
import { documentsIn, type Resource, renderAll, resourcesOf, runHelm } from '../src/render.ts'
import { podSpecsIn } from './pods.ts'
import { schemaErrors } from './schemas.ts'

const read = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')
const helm = await findHelm()
const rendered = await renderAll(helm)
const all = resourcesOf(rendered)
/** The fields of the rendering that are looked at here; the schemas, which are checked below, allow more. */
interface Specs {
  Deployment: {
    strategy: { rollingUpdate: object }
    template: {
      spec: {
        terminationGracePeriodSeconds: number
        topologySpreadConstraints: object[]
        containers: [
          Record<'livenessProbe' | 'startupProbe' | 'readinessProbe', { httpGet: { path: string } }>,
        ]
      }
    }
  }
  PodDisruptionBudget: { maxUnavailable: number }
  HorizontalPodAutoscaler: object
  ScaledObject: {
    maxReplicaCount: number
    scaleTargetRef: { name: string }
    triggers: [{ metadata: { query: string } }, { metadata: { queueName: string } }]
  }
  NetworkPolicy: {
    podSelector: { matchLabels: Record<string, string> }
    policyTypes: string[]
    ingress: [{ ports: object[]; from: Peer[] }]
    egress: { to?: Peer[]; ports?: { port: unknown }[] }[]
  }
  ConfigMap: undefined
  PrometheusRule: object
  PodMonitor: {
    jobLabel: string
    podMetricsEndpoints: [{ port: string }]
    selector: { matchExpressions: [{ values: string[] }] }
  }
}
interface Peer {
  podSelector?: { matchLabels: Record<string, string> }
  ipBlock?: { cidr: string }
}
type OfKind<Kind extends keyof Specs> = Resource & { kind: Kind; spec: Specs[Kind] }

const isOfKind = <Kind extends keyof Specs>(resource: Resource, kind: Kind): resource is OfKind<Kind> =>
  resource.kind === kind
const byKind = <Kind extends keyof Specs>(kind: Kind) =>
  all.flatMap(({ resource }) => (isOfKind(resource, kind) ? [resource] : []))
const componentOf = (labels: Record<string, string> = {}) => labels['app.kubernetes.io/component'] ?? ''

describe('the published schemas', () => {
  const named = all.map(
    ({ file, resource }) => [`${resource.kind} ${resource.metadata.name} in ${file}`, resource] as const,
  )

  test.each(named)('%s is valid', async (_name, resource) => {
    expect(await schemaErrors(resource)).toEqual([])
  })

  test('of Kubernetes are those that examples/servers.yaml is checked by, but for the kinds of the two operators', async () => {
    const servers = documentsIn(read('deploy/kubernetes/examples/servers.yaml'))
    const known = servers.filter(({ apiVersion }) => !/^(rabbitmq\.com|mongodbcommunity)/.test(apiVersion))
    expect(known).toHaveLength(3)
    for (const resource of known) expect(await schemaErrors(resource)).toEqual([])
  })

  test('refuse a property with a wrong name and a value of a wrong type', async () => {
    const [deployment] = byKind('Deployment')
    const misspelt = { ...deployment!, spec: { ...deployment!.spec, replica: 2 } }
    expect(await schemaErrors(misspelt)).toEqual(['/spec/replica is unknown'])
    const wrong = { ...deployment!, spec: { ...deployment!.spec, replicas: 'two' } }
    expect((await schemaErrors(wrong)).join()).toMatch(/replicas/)
    const [scaled] = byKind('ScaledObject')
    const untyped = { ...scaled!, spec: { ...scaled!.spec, maxReplicaCount: 'many' } }
    expect((await schemaErrors(untyped)).join()).toMatch(/maxReplicaCount/)
  })
})

describe('every pod', () => {
  const pods = all.flatMap(({ file, resource }) =>
    podSpecsIn(resource).map((spec) => [`${resource.metadata.name} in ${file}`, spec] as const),
  )

  test.each(pods)('%s has neither root, nor a token, nor a file system to write to', (_name, spec) => {
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(spec).not.toHaveProperty('serviceAccountName')
    for (const container of spec.containers)
      expect(container).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { requests: { cpu: expect.anything() }, limits: { memory: expect.anything() } },
      })
  })

  test.each(pods)('%s runs a script of the image and gets secrets as files only', (_name, spec) => {
    for (const { args, env, volumeMounts } of spec.containers) {
      expect(existsSync(join(CHECKOUT, args[0]!))).toBe(true)
      const secret = /KEY|SECRET|PASSWORD|PEPPERS|MONGO_URL|AMQP_URL|REDIS_URL|SMTP_URL|DEFINITIONS/
      const named = env.filter(({ name }) => secret.test(name))
      expect(named.length).toBeGreaterThan(1)
      for (const { name, value } of named) {
        expect(name).toMatch(/_FILE$/)
        expect(value).toMatch(/^\/run\/secrets\/parley\//)
      }
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain('/run/secrets/parley')
    }
  })
})

describe('a service', () => {
  test.each(SERVICES)('%s is probed, spread, drained and disrupted one instance at a time', (name) => {
    const deployments = byKind('Deployment').filter(({ metadata }) => componentOf(metadata.labels) === name)
    expect(deployments).toHaveLength(2)
    for (const deployment of deployments) {
      const { strategy, template } = deployment.spec
      expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
      // A process is gone within 25 s of SIGTERM.
      expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(25)
      expect(template.spec.topologySpreadConstraints).toHaveLength(2)
      const [container] = template.spec.containers
      expect(container.livenessProbe.httpGet.path).toBe('/health/live')
      expect(container.startupProbe.httpGet.path).toBe('/health/live')
      expect(container.readinessProbe).toMatchObject({
        httpGet: { path: '/health/ready' },
        timeoutSeconds: 5,
      })
    }
    const budgets = byKind('PodDisruptionBudget').filter(
      ({ metadata }) => componentOf(metadata.labels) === name,
    )
    expect(budgets.map((budget) => budget.spec.maxUnavailable)).toEqual([1, 1])
  })

  test('that scales by processor time is gateway, webhook or configuration', () => {
    const scaled = byKind('HorizontalPodAutoscaler').map(({ metadata }) => componentOf(metadata.labels))
    expect(new Set(scaled)).toEqual(new Set(['gateway', 'webhook', 'configuration']))
  })

  test('dispatcher is scaled by KEDA, by what waits in the store and in the queues, up to the number of partitions', () => {
    const [scaled, ...others] = byKind('ScaledObject')
    expect(others).toEqual([])
    const { maxReplicaCount, triggers, scaleTargetRef } = scaled!.spec
    expect(maxReplicaCount).toBe(config.PARTITIONS.parse(undefined))
    expect(scaleTargetRef.name).toBe('parley-dispatcher')
    expect(triggers[0].metadata.query).toMatch(/^sum\(parley_messages_waiting\{/)
    const queues = new RegExp(triggers[1].metadata.queueName)
    expect(
      ['messages.p0', 'messages.g2.p63', 'messages.log', 'messages.statuses.p1'].map((one) =>
        queues.test(one),
      ),
    ).toEqual([true, true, false, false])
    const [deployment] = byKind('Deployment')
      .filter(({ metadata }) => metadata.name === 'parley-dispatcher')
      .slice(1)
    expect(deployment!.spec).not.toHaveProperty('replicas')
  })
})

describe('memory', () => {
  const MIB_OF = { Mi: 1, Gi: 1_024 }
  const isService = ({ metadata }: Resource) => SERVICES.some((name) => name === componentOf(metadata.labels))
  const containersWith = async (more: string[]) => {
    const documents = documentsIn(await runHelm(helm, ['operators.yaml'], more))
    return documents
      .filter((resource) => isService(resource) && resource.kind === 'Deployment')
      .flatMap(podSpecsIn)
      .flatMap(({ containers }) => containers)
  }
  const limitOf = ({ resources }: Record<string, unknown>) => {
    const { memory } = (resources as { limits: { memory: string } }).limits
    return Number.parseInt(memory, 10) * MIB_OF[memory.slice(-2) as keyof typeof MIB_OF]
  }

  test.each(MEMORY)(
    'of a process is as MEMORY=%s says, and its limit has room for it',
    async (memory: Memory) => {
      const containers = await containersWith(
        memory === 'default' ? [] : ['--set', `settings.MEMORY=${memory}`],
      )
      expect(containers).toHaveLength(SERVICES.length)
      for (const container of containers) {
        const value = heapArguments(memory).join(' ')
        expect(container.env).toContainEqual({ name: 'NODE_OPTIONS', value })
        expect(limitOf(container)).toBeGreaterThanOrEqual(memoryBound(memory, heapLimitMib(memory)).atMostMib)
      }
    },
  )

  test('with a limit of your own, Node takes its half', async () => {
    const more = ['--set', 'services.webhook.resources.limits.memory=3Gi']
    const [webhook] = (await containersWith(more)).filter(({ args }) => args[0]?.includes('webhook'))
    expect(limitOf(webhook ?? {})).toBe(3 * 1_024)
    expect(webhook?.env.map(({ name }) => name)).not.toContain('NODE_OPTIONS')
  })

  test('of MongoDB in examples/servers.yaml has room for the cache of MEMORY=default', () => {
    const servers = documentsIn(read('deploy/kubernetes/examples/servers.yaml'))
    expect(servers.find(({ kind }) => kind === 'MongoDBCommunity')).toMatchObject({
      spec: {
        additionalMongodConfig: {
          'storage.wiredTiger.engineConfig.cacheSizeGB': sizesOf('default').mongoCacheGb,
        },
      },
    })
  })
})

describe('network policies', () => {
  /** The services that one calls, by its environment. */
  const callsOf = (name: (typeof SERVICES)[number]) =>
    SERVICES.filter((other) => `${other.toUpperCase()}_URL` in environmentOf(name))
  const policies = all.flatMap(({ file, resource }) =>
    file.startsWith('operators/') && isOfKind(resource, 'NetworkPolicy') ? [resource.spec] : [],
  )
  const specs = new Map(policies.map((spec) => [componentOf(spec.podSelector.matchLabels), spec]))
  const componentsIn = (peers: Peer[] = []) =>
    peers.map(({ podSelector }) => componentOf(podSelector?.matchLabels)).filter((one) => one !== '')

  test.each(SERVICES)('let %s call the services whose URLs it has, and no other', (name) => {
    const { egress, policyTypes } = specs.get(name)!
    expect(policyTypes).toEqual(['Ingress', 'Egress'])
    const called = egress.flatMap(({ to }) => componentsIn(to))
    expect(new Set(called)).toEqual(new Set(callsOf(name)))
  })

  test.each(SERVICES)('let %s be called by the services that have its URL, and no other', (name) => {
    const [http] = specs.get(name)!.ingress
    expect(http.ports).toEqual([{ protocol: 'TCP', port: 8080 }])
    expect(new Set(componentsIn(http.from))).toEqual(
      new Set(SERVICES.filter((one) => callsOf(one).includes(name))),
    )
  })

  test.each(SERVICES)('let %s reach the servers whose URLs it has, and no other', (name) => {
    const ports = specs.get(name)!.egress.flatMap((rule) => rule.ports ?? [])
    const servers = { MONGO_URL: 27017, AMQP_URL: 5672, REDIS_URL: 6379 }
    const expected = Object.entries(servers).flatMap(([key, port]) =>
      key in environmentOf(name) ? [port] : [],
    )
    const numbers = ports.map(({ port }) => port).filter((port) => port !== 8080)
    expect(new Set(numbers)).toEqual(new Set([53, ...expected]))
  })

  test('let nobody but the dispatcher out, and it not to private addresses but those that it is allowed', () => {
    const blocks = all
      .flatMap(({ file, resource }) => {
        if (!isOfKind(resource, 'NetworkPolicy')) return []
        const peers = resource.spec.egress.flatMap(({ to }) => to ?? [])
        const cidrs = peers.flatMap(({ ipBlock }) => ipBlock?.cidr ?? [])
        return [{ file, name: resource.metadata.name, cidrs }]
      })
      .filter(({ cidrs }) => cidrs.includes('0.0.0.0/0'))
    expect(blocks.map(({ name }) => name)).toEqual(['parley-dispatcher', 'parley-dispatcher'])
    const managed = blocks.find(({ file }) => file.startsWith('managed/'))
    expect(managed?.cidrs).toEqual(expect.arrayContaining(['10.20.0.0/16', '10.30.0.7/32']))
  })

  test('name every component, jobs included', () => {
    const components = all
      .filter(({ file, resource }) => file.startsWith('operators/') && podSpecsIn(resource).length > 0)
      .map(({ resource }) => componentOf(resource.metadata.labels))
    expect(new Set(specs.keys())).toEqual(new Set(components))
  })
})

describe('what leads to the gateway', () => {
  const inExample = (example: string) => all.filter(({ file }) => file.startsWith(`${example}/`))

  test('lets bodies through as large as the gateway takes: the ingress', () => {
    const ingress = inExample('operators').find(({ resource }) => resource.kind === 'Ingress')?.resource
    const annotations = ingress?.metadata.annotations ?? {}
    const settings = ['proxy-body-size', 'proxy-request-buffering'].map(
      (name) => annotations[`nginx.ingress.kubernetes.io/${name}`],
    )
    // 0 is no bound: the gateway has one for each path.
    expect(settings).toEqual(['0', 'off'])
  })

  test('listens for HTTPS where publicUrl is, and inside at the same port: the load balancer', () => {
    const objects = inExample('managed').map(({ resource }) => resource)
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === 'parley-gateway',
    )
    expect(service).toMatchObject({
      metadata: {
        annotations: { 'service.beta.kubernetes.io/aws-load-balancer-ssl-ports': '443' },
      },
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        ports: [{ name: 'http', port: 443, targetPort: 'http' }],
      },
    })
    const [dispatcher] = objects
      .filter(({ metadata }) => metadata.name === 'parley-dispatcher')
      .flatMap(podSpecsIn)
    expect(dispatcher?.containers[0]?.env).toContainEqual({
      name: 'GATEWAY_URL',
      value: 'http://parley-gateway:443',
    })
  })
})

describe('monitoring', () => {
  test('has the rules of deploy/observability, all of them', () => {
    const [rules] = byKind('PrometheusRule')
    expect(rules!.spec).toEqual(parse(read('deploy/observability/alerts.yml')))
  })

  test('has the dashboard of deploy/observability', () => {
    const [map] = byKind('ConfigMap') as unknown as { data: Record<string, string> }[]
    const file = 'deploy/observability/grafana/dashboards/parley.json'
    expect(JSON.parse(map!.data['parley.json'] ?? '')).toEqual(JSON.parse(read(file)))
  })

  test('scrapes every service under the job that the rules know it by', () => {
    const [monitor] = byKind('PodMonitor')
    const { jobLabel, podMetricsEndpoints, selector } = monitor!.spec
    expect([jobLabel, podMetricsEndpoints[0].port]).toEqual(['app.kubernetes.io/component', 'metrics'])
    expect(new Set(selector.matchExpressions[0].values)).toEqual(new Set(SERVICES))
  })
})

test('jobs run before an install and an upgrade, and are apart from the rest of a rendering', () => {
  const jobs = all.filter(({ resource }) => resource.kind === 'Job')
  expect(jobs.map(({ file, resource }) => `${file} ${resource.metadata.name}`).toSorted()).toEqual([
    'managed/before/jobs.yaml parley-prepare-rabbitmq',
    'operators/before/jobs.yaml parley-prepare-mongodb',
    'operators/before/jobs.yaml parley-prepare-rabbitmq',
  ])
  for (const { resource } of jobs)
    expect(resource.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade')
})

test('kustomize finds every file of a rendering', () => {
  for (const [file, text] of [...rendered].filter(([path]) => path.endsWith('kustomization.yaml'))) {
    const folder = file.slice(0, -'kustomization.yaml'.length)
    const inFolder = [...rendered.keys()].filter((path) => path.startsWith(folder) && path !== file)
    expect(
      parse(text)
        .resources.map((name: string) => `${folder}${name}`)
        .toSorted(),
    ).toEqual(inFolder.toSorted())
  }
})
