// Checks that each package that a package.json lists is imported somewhere in its folder: `npm run check` runs this.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { filesOfTree } from './modules.ts'

/** Nothing imports them, and they are needed. */
const EXCEPTED = new Map([
  ['@types/node', "Node's own modules have types by it"],
  ['deploy/local typescript', 'openapi-typescript works on its syntax trees, and needs this version'],
])

const named = z.record(z.string(), z.string()).default({})
const manifest = z.looseObject({ dependencies: named, devDependencies: named, scripts: named })
const installed = z.looseObject({ bin: z.union([z.string(), named]).default({}) })

const code = filesOfTree(/\.(ts|tsx|mjs|js)$/).map((file) => ({ file, text: readFileSync(file, 'utf8') }))
const manifests = filesOfTree(/(^|\/)package\.json$/)
const findings = manifests.flatMap(unusedIn)
for (const finding of findings) console.error(finding)
console.log(`${manifests.length} package.json, ${findings.length} findings`)
if (findings.length > 0 || manifests.length === 0) process.exitCode = 1

function unusedIn(file: string): string[] {
  const { dependencies, devDependencies, scripts } = manifest.parse(JSON.parse(readFileSync(file, 'utf8')))
  const folder = dirname(file)
  const commands = Object.values(scripts).join(' ').split(/\s+/)
  return Object.keys({ ...dependencies, ...devDependencies }).flatMap((name) => {
    const isNeeded = EXCEPTED.has(name) || EXCEPTED.has(`${folder} ${name}`)
    const isUsed = isImported(folder, name) || commandsOf(name).some((command) => commands.includes(command))
    return isNeeded || isUsed ? [] : [`${file}: nothing in ${folder} imports ${name}`]
  })
}

/** Types count as imported with what they are the types of. */
function isImported(folder: string, name: string): boolean {
  const imported = name.replace(/^@types\//, '')
  const [escaped, scope] = [RegExp.escape(imported), folder === '.' ? '' : `${folder}/`]
  const specifier = new RegExp(`['"\`]${escaped}(/[^'"\`]*)?['"\`]`)
  return code.some(({ file, text }) => file.startsWith(scope) && specifier.test(text))
}

/** The commands that a package brings, where it is installed. */
function commandsOf(name: string): string[] {
  const file = join('node_modules', name, 'package.json')
  if (!existsSync(file)) return []
  const { bin } = installed.parse(JSON.parse(readFileSync(file, 'utf8')))
  return typeof bin === 'string' ? [name] : Object.keys(bin)
}
