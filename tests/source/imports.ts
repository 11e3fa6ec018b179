// Checks that the folders of each service import one way only: `npm run check` runs this.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The dispatcher's folders, from the top: each imports from the groups below its own, and never within its group. */
const DISPATCHER = [
  ['api', 'intake', 'statuses', 'reconciliation', 'layout'],
  ['schedule'],
  ['deliver'],
  ['agents'],
  ['events'],
  ['channels'],
  ['replica', 'thread-log'],
  ['store'],
  ['metrics', 'round-robin'],
  ['message'],
]
/** They put a service together, so they import what they like. */
const ROOT = ['app.ts', 'change-partitions.ts', 'config.ts', 'openapi.ts', 'server.ts']

interface Import {
  service: string
  /** Paths inside the service's `src`. */
  from: string
  to: string
}

const files = execFileSync('git', ['ls-files', 'gateway/src/*', 'services/*/src/*'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file.endsWith('.ts'))
const imports = files.flatMap(importsOf)
const services = Map.groupBy(imports, ({ service }) => service)
const findings = [...services].flatMap(([service, ofService]) => [
  ...ofService.filter(isOfRoot).map((one) => `${placeOf(one)}: only tests import app and server`),
  ...inCycles(betweenFolders(ofService)).map((one) => `${placeOf(one)}: part of a cycle of folders`),
  ...(service.endsWith('/dispatcher/src') ? betweenFolders(ofService).filter(isUpward) : []).map(
    (one) => `${placeOf(one)}: imports against the order of the pipeline`,
  ),
])
for (const finding of findings) console.error(finding)
console.log(`${imports.length} imports inside ${services.size} services, ${findings.length} the wrong way`)
if (findings.length > 0 || services.size === 0) process.exitCode = 1

/** Imports of types count, and files that a worker starts from by `new URL`. */
function importsOf(file: string): Import[] {
  const [service = '', from = ''] = file.split(/(?<=\/src)\//)
  const found = readFileSync(file, 'utf8').matchAll(
    /(?:\bfrom|\bimport|\bimport\(|\bURL\()\s*'(\.[^']+\.ts)'/g,
  )
  return [...found].map(([, path = '']) => ({ service, from, to: join(dirname(from), path) }))
}

function isOfRoot({ from, to }: Import): boolean {
  return ['app.ts', 'server.ts'].includes(to) && !ROOT.includes(from)
}

/** A file beside the folders counts as a folder of its own. */
function folderOf(file: string): string {
  return dirname(file) === '.' ? file : dirname(file)
}

function betweenFolders(all: Import[]): Import[] {
  return all.filter(
    ({ from, to }) => !ROOT.includes(from) && !ROOT.includes(to) && folderOf(from) !== folderOf(to),
  )
}

function isUpward({ from, to }: Import): boolean {
  const [above, below] = [from, to].map((file) => file.split('/')[0] ?? '')
  if (above === below) return false
  const levelOf = (folder = '') => DISPATCHER.findIndex((group) => group.includes(folder))
  return levelOf(above) < 0 || levelOf(below) <= levelOf(above)
}

/** The imports whose folder can be reached from what they import. */
function inCycles(all: Import[]): Import[] {
  const imported = new Map<string, Set<string>>()
  for (const { from, to } of all) {
    const folders = imported.get(folderOf(from)) ?? new Set()
    imported.set(folderOf(from), folders.add(folderOf(to)))
  }
  return all.filter(({ from, to }) => reachableFrom(folderOf(to), imported).has(folderOf(from)))
}

function reachableFrom(start: string, imported: Map<string, Set<string>>): Set<string> {
  const reached = new Set([start])
  for (const folder of reached) for (const next of imported.get(folder) ?? []) reached.add(next)
  return reached
}

function placeOf({ service, from, to }: Import): string {
  return `${join(service, from)} imports ${to}`
}
