import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets } from '@parley/local/system/secrets'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { SERVICES } from '@parley/shared/internal-token'
import { parse as parseYaml } from 'yaml'
import { composeEnvironment } from '../../deploy/docker/compose-environment.ts'
import { kubernetesSecrets } from '../../deploy/kubernetes/src/secrets.ts'
import { environmentOf } from '../../docs/environment-page.ts'

const read = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')
const pages = [
  'README.md',
  ...readdirSync(join(CHECKOUT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const operations = read('docs/operations.md')
const values = composeEnvironment(makeSecrets())
const addresses = { mongo: 'mongodb://a', amqp: 'amqp://a', redis: 'redis://a', management: 'http://a' }
const namesIn = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name = '']) => name))
const sorted = (names: Iterable<string>) => [...names].toSorted()

const rules = (
  parseYaml(read('deploy/observability/alerts.yml')).groups as { rules: { alert: string; expr: string }[] }[]
).flatMap((group) => group.rules)
const panels = JSON.parse(read('deploy/observability/grafana/dashboards/parley.json')).panels as {
  targets: { expr: string }[]
}[]

/** Names of metrics in PromQL: what is neither a function, nor a label, nor a keyword. */
function metricsIn(expression: string): string[] {
  const bare = expression.replace(/\{[^}]*\}/g, '').replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, '')
  return [...bare.matchAll(/[a-z_][a-z0-9_]*(?![a-z0-9_]*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => name === 'up' || name.includes('_'))
    .filter((name) => name !== 'histogram_quantile')
    .map((name) => name.replace(/_(bucket|count|sum)$/, ''))
}

describe('metrics', () => {
  let system: Parley
  let shown: Set<string>
  beforeAll(async () => {
    system = await startParley()
    const all = SERVICES.map((name) =>
      system.services[name].registry.getMetricsAsArray().map((metric) => metric.name),
    )
    shown = new Set(all.flat())
  })
  afterAll(() => system.close())

  const documented = namesIn(
    operations,
    /^\| `([a-z_]+)` \| (?:all|gateway|identity|webhook|configuration|dispatcher) \|/gm,
  )

  test('those of the page are shown, and those that are shown are on the page', () => {
    expect(sorted(documented)).toEqual(sorted(shown))
  })

  test('each is shown by the service that the page says', () => {
    for (const [, name = '', of = ''] of operations.matchAll(/^\| `([a-z_]+)` \| (\w+) \|/gm)) {
      if (!documented.has(name)) continue
      const by = SERVICES.filter(
        (service) => system.services[service].registry.getSingleMetric(name) !== undefined,
      )
      expect([name, by]).toEqual([name, of === 'all' ? [...SERVICES] : [of]])
    }
  })

  test('alerts and dashboard look at nothing else', () => {
    const node = /^(process|nodejs)_/
    const asked = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    const names = new Set(asked.flatMap(metricsIn).filter((name) => name !== 'up' && !node.test(name)))
    expect(names.size).toBeGreaterThan(10)
    expect(sorted(names.difference(shown))).toEqual([])
  })

  test('the probes that the page names answer', async () => {
    const probes = namesIn(operations, /^\| `(\/health\/\w+)` \|/gm)
    expect(sorted(probes)).toEqual(['/health/live', '/health/ready'])
    for (const probe of probes) expect((await fetch(`${system.url}${probe}`)).status).toBe(200)
  })
})

test('every alert has its section, and every section its alert', () => {
  const sections = namesIn(operations.split('\n## Alerts\n')[1] ?? '', /^### (\w+)$/gm)
  expect(sorted(sections)).toEqual(sorted(rules.map(({ alert }) => alert)))
})

describe('without anything to look at', () => {
  const exprOf = (name: string) => rules.find(({ alert }) => alert === name)?.expr ?? ''

  test('an alert says for each process that there is none', () => {
    for (const service of SERVICES)
      expect(exprOf('ProcessMissing')).toContain(
        `label_replace(absent(up{job="${service}"} == 1), "job", "${service}", "", "")`,
      )
  })

  test('both sides of the alert for partitions have a number', () => {
    const sides = exprOf('PartitionsUnleased').split(' < ')
    expect(sides).toEqual([
      '(sum(parley_partitions_leased) or vector(0))',
      '(max(parley_partitions) or max(max_over_time(parley_partitions[1h])) or vector(1))',
    ])
  })
})

describe.each(pages)('%s', (page) => {
  const text = read(page)

  test('names only environment variables that exist', () => {
    const known = new Set([
      ...SERVICES.flatMap((name) => Object.keys(environmentOf(name))),
      ...Object.keys(values),
      ...kubernetesSecrets(values, addresses).flatMap(({ stringData }) => Object.keys(stringData)),
      ...namesIn(read('docker-compose.yml'), /\$\{(\w+):/g),
      ...namesIn(sizesOfRuns(), /^ {2}([A-Z][A-Z0-9_]+): /gm),
    ])
    const named = namesIn(text, /`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`/g)
    const others = new Set([
      ...['WORKSPACE_ADMIN', 'AI_CHAT_PROVIDER'],
      // The command line reads these.
      ...['NO_COLOR', 'PARLEY_TOKEN', 'PARLEY_URL'],
    ])
    expect(sorted(named.difference(known).difference(others))).toEqual([])
  })

  test('names only commands and files that exist', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const name of namesIn(text, /npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(name)
    const paths = namesIn(text, /`((?:deploy|docs|gateway|services|shared|tests)\/[\w./-]+)`/g)
    expect(sorted(paths).filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([])
    const links = namesIn(text, /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)
    const folder = page.startsWith('docs/') ? 'docs' : '.'
    expect(sorted(links).filter((path) => !existsSync(join(CHECKOUT, folder, path)))).toEqual([])
  })
})

/** The sources of the commands that take a size from the environment. */
function sizesOfRuns(): string {
  const files = readdirSync(join(CHECKOUT, 'tests'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(`tests/${file}`))
    .join('\n')
}
