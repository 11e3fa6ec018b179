// Checks that the folders of each service, and of the lab, import one way only, that only tests import the lab, that no files
// import each other in a circle, and that each export is imported somewhere: `npm run check` runs this.
import { dirname, join } from 'node:path'
import { circlesOf, type Module, reachableFrom, readModules, unusedExports } from './modules.ts'

/** The dispatcher's folders, from the top: each imports from the groups below its own, and never within its group. */
const DISPATCHER = [
  ['api', 'intake', 'statuses', 'reconciliation', 'layout'],
  ['schedule'],
  ['deliver'],
  ['agents'],
  ['functions', 'outgoing'],
  ['channels'],
  ['replica', 'conversations'],
  ['consent'],
  ['store'],
  ['metrics', 'round-robin'],
  ['message', 'times.ts'],
]
/** The lab's folders likewise. */
const LAB = [['scenarios'], ['verdict'], ['strike', 'load'], ['report'], ['system']]
const LAB_FOLDER = 'tests/lab/'
const TEST = /(^|\/)tests?\//

/** They put a service together, so they import what they like. */
const ROOT = ['app.ts', 'connections.ts', 'change-partitions.ts', 'config.ts', 'routes.ts', 'server.ts']

/** Its users are not in this tree. */
const PUBLIC = 'shared/client/'

const SERVICE_FILE = /^(gateway\/src|services\/[^/]+\/src)\/(.+)$/

interface Import {
  service: string
  /** Paths inside the service's `src`. */
  from: string
  to: string
}

const modules = await readModules()
const imports = modules.flatMap(insideServices)
const services = Map.groupBy(imports, ({ service }) => service)
const findings = [
  ...[...services].flatMap(([service, ofService]) => [
    ...ofService.filter(isOfRoot).map((one) => `${placeOf(one)}: only tests import app and server`),
    ...inCycles(betweenFolders(ofService)).map((one) => `${placeOf(one)}: part of a cycle of folders`),
    ...(service.endsWith('/dispatcher/src') ? betweenFolders(ofService) : [])
      .filter((one) => isUpward(one, DISPATCHER))
      .map((one) => `${placeOf(one)}: imports against the order of the pipeline`),
  ]),
  ...modules.flatMap(ofLab),
  ...circlesOf(modules).map((files) => `${files.join(', ')}: a circle of files`),
  ...unusedExports(modules)
    .filter((one) => !one.startsWith(PUBLIC))
    .map((one) => `${one}: exported, and imported by no other file`),
]
for (const finding of findings) console.error(finding)
console.log(
  `${modules.length} files, ${imports.length} imports inside ${services.size} services, ${findings.length} findings`,
)
if (findings.length > 0 || services.size === 0) process.exitCode = 1

/** The imports of a file of a service from other files of that service. */
function insideServices({ file, imports }: Module): Import[] {
  const [, service = '', from = ''] = SERVICE_FILE.exec(file) ?? []
  if (service === '') return []
  const own = imports.filter((one) => one.file.startsWith(`${service}/`))
  return own.map((one) => ({ service, from, to: one.file.slice(service.length + 1) }))
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

function isUpward({ from, to }: Pick<Import, 'from' | 'to'>, levels: readonly string[][]): boolean {
  const [above, below] = [from, to].map((file) => file.split('/')[0] ?? '')
  if (above === below) return false
  const levelOf = (folder = '') => levels.findIndex((group) => group.includes(folder))
  return levelOf(above) < 0 || levelOf(below) <= levelOf(above)
}

/** Returns the imports of the lab that a file has without being a test, or against the order of its folders. */
function ofLab({ file, imports }: Module): string[] {
  const used = imports.filter((one) => one.file.startsWith(LAB_FOLDER))
  if (!TEST.test(file)) return used.map((one) => `${file} imports ${one.file}: only tests import the lab`)
  if (!file.startsWith(LAB_FOLDER)) return []
  const own = used.map((one) => ({
    from: file.slice(LAB_FOLDER.length),
    to: one.file.slice(LAB_FOLDER.length),
  }))
  return own
    .filter((one) => isUpward(one, LAB))
    .map(({ from, to }) => `${LAB_FOLDER}${from} imports ${to}: imports against the order of the lab`)
}

/** The imports whose folder can be reached from what they import. */
function inCycles(all: Import[]): Import[] {
  const imported = new Map<string, Set<string>>()
  for (const { from, to } of all) {
    const folders = imported.get(folderOf(from)) ?? new Set()
    imported.set(folderOf(from), folders.add(folderOf(to)))
  }
  return all.filter(({ from, to }) => reachableFrom([folderOf(to)], imported).has(folderOf(from)))
}

function placeOf({ service, from, to }: Import): string {
  return `${join(service, from)} imports ${to}`
}
