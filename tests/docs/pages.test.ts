import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { makeSecrets } from '@parley/local/system/secrets'
import { SERVICES } from '@parley/shared/internal-token'
import { composeEnvironment } from '../../deploy/docker/compose-environment.ts'
import { kubernetesSecrets } from '../../deploy/kubernetes/src/secrets.ts'
import { environmentOf } from '../../docs/environment-page.ts'
import { readMeasurements, renderMeasurementsPage } from '../bench/measurements.ts'

const read = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')
const pagesIn = (folder: string) =>
  readdirSync(join(CHECKOUT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pagesIn('docs'), ...pagesIn('docs/adr')]
const namesIn = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name = '']) => name))
const sorted = (names: Iterable<string>) => [...names].toSorted()
const values = composeEnvironment(makeSecrets())
const addresses = { mongo: 'mongodb://a', amqp: 'amqp://a', redis: 'redis://a', management: 'http://a' }
const OF_ONE_SERVICE = new RegExp(`^(?:${SERVICES.join('|').toUpperCase()})_`)
const { scripts } = JSON.parse(read('package.json'))

const variables = new Set([
  ...SERVICES.flatMap((name) => Object.keys(environmentOf(name))),
  ...Object.keys(values),
  ...kubernetesSecrets(values, addresses).flatMap(({ stringData }) => Object.keys(stringData)),
  ...namesIn(read('docker-compose.yml'), /\$\{(\w+):/g),
  ...namesIn(sizesOfRuns(), /^ {2}([A-Z][A-Z0-9_]+): /gm),
  ...['WORKSPACE_ADMIN', 'AI_CHAT_PROVIDER'],
  // The command line reads these.
  ...['NO_COLOR', 'PARLEY_TOKEN', 'PARLEY_URL'],
])

describe.each(pages)('%s', (page) => {
  const text = read(page)
  const prose = withoutExamples(text)

  test('names only environment variables that exist', () => {
    const named = namesIn(text, /`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`/g)
    expect(sorted(named).filter((name) => !isVariable(name))).toEqual([])
  })

  test('names only commands and files that exist', () => {
    for (const name of namesIn(text, /npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(name)
    const folders = 'deploy|docs|gateway|services|shared|tests'
    const paths = namesIn(text, new RegExp(`(?:\`|node )((?:${folders})/[\\w./-]+)`, 'g'))
    expect(sorted(paths).filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([])
  })

  test('links only to files and headings that exist', () => {
    const links = namesIn(prose, /\]\((?!https?:)([^)\s]+)\)/g)
    expect(sorted(links).filter((link) => !leadsSomewhere(page, link))).toEqual([])
  })

  test('has each item of a list once', () => {
    const items = prose.split(/^(?=- |$)/m).filter((item) => item.startsWith('- '))
    const said = items.map((item) => item.trim().replaceAll(/\s+/g, ' '))
    expect(said.filter((item, index) => said.indexOf(item) < index)).toEqual([])
  })
})

test('the page of measurements has those that are stored', () => {
  expect(read('docs/measurements.md')).toBe(renderMeasurementsPage(readMeasurements()))
})

function withoutExamples(text: string): string {
  const parts = text.split(/^```/m)
  return parts.filter((_, index) => index % 2 === 0).join('')
}

/** Where one process hosts several services, a variable may have the name of one in front. */
const isVariable = (name: string) => variables.has(name) || variables.has(name.replace(OF_ONE_SERVICE, ''))

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#', 2)
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(CHECKOUT, target))) return false
  return heading === undefined || headingsOf(read(target)).has(heading)
}

/** The names by which GitHub links to the headings of a page, and those that it gives itself. */
function headingsOf(text: string): Set<string> {
  const headings = [...namesIn(withoutExamples(text), /^#+ (.+)$/gm)].map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...namesIn(text, /<a id="([\w-]+)">/g)])
}

/** The sources of the commands that take a size from the environment. */
function sizesOfRuns(): string {
  const files = readdirSync(join(CHECKOUT, 'tests'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(`tests/${file}`))
    .join('\n')
}
