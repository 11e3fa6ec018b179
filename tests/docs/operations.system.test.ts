import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { SERVICES } from '@parley/shared/internal-token'
import { parse as parseYaml } from 'yaml'

const read = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')
const operations = read('docs/operations.md')
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
    system = await startParley({ services: [...SERVICES] })
    const all = SERVICES.map((name) =>
      system.services[name].registry.getMetricsAsArray().map((metric) => metric.name),
    )
    shown = new Set(all.flat())
  })
  afterAll(() => system.close())

  const documented = namesIn(
    operations,
    /^\| `([a-z_]+)` \| (?:all|gateway|identity|webhook|configuration|dispatcher|campaigns) \|/gm,
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
