import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Module as Parsed, parse } from '@swc/core'

/** A file of code: what it imports from other files of the tree, and the names that it exports. */
export interface Module {
  file: string
  imports: ModuleImport[]
  exports: string[]
}

interface ModuleImport {
  file: string
  /** The names as they are exported; `*` for all of them. */
  names: string[]
}

export type Node = Record<string, unknown>

/** The folders and exports of the tree's packages, for imports of `<package>/<path>`. */
const PACKAGES = new Map(
  ['shared', 'shared/client', 'gateway', 'gateway/console', ...foldersOf('services'), 'deploy/local'].map(
    (folder) => {
      const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      return [String(name), { folder, exports: exports as Record<string, string> }] as const
    },
  ),
)

/** The files of a name like these that are in the working tree, whether committed or not. */
export function filesOfTree(name = /\.(ts|tsx|mjs|css)$/): string[] {
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => name.test(file) && existsSync(file))
}

/** Every file of code in the tree, with its imports. Imports of types count, and files that a process starts from. */
export function readModules(): Promise<Module[]> {
  return Promise.all(filesOfTree(/\.(ts|tsx|mjs)$/).map(readModule))
}

/** The circles of files: each of a circle leads to all others of it. */
export function circlesOf(modules: readonly Module[]): string[][] {
  const imported = new Map(
    modules.map(({ file, imports }) => [file, new Set(imports.map((one) => one.file))]),
  )
  const reached = new Map(
    modules.map(({ file }) => [file, reachableFrom(imported.get(file) ?? [], imported)]),
  )
  const circles = new Map<string, string[]>()
  for (const [file, others] of reached) {
    if (!others.has(file)) continue
    const circle = [...others].filter((other) => reached.get(other)?.has(file)).sort()
    circles.set(circle.join(' '), circle)
  }
  return [...circles.values()]
}

/** Returns the names that can be reached from some names, including these. */
export function reachableFrom(
  starts: Iterable<string>,
  imported: ReadonlyMap<string, ReadonlySet<string>>,
): Set<string> {
  const reached = new Set(starts)
  for (const name of reached) for (const next of imported.get(name) ?? []) reached.add(next)
  return reached
}

/** The exports that no other file of the tree imports, as `<file>: <name>`. */
export function unusedExports(modules: readonly Module[]): string[] {
  const used = new Set(
    modules.flatMap(({ imports }) =>
      imports.flatMap(({ file, names }) => names.map((name) => `${file}: ${name}`)),
    ),
  )
  return modules.flatMap(({ file, exports }) =>
    exports.map((name) => `${file}: ${name}`).filter((one) => !used.has(one) && !used.has(`${file}: *`)),
  )
}

async function readModule(file: string): Promise<Module> {
  const tree = await parse(readFileSync(file, 'utf8'), {
    syntax: 'typescript',
    tsx: file.endsWith('.tsx'),
    target: 'es2024',
  })
  const imports: ModuleImport[] = []
  const add = (specifier: unknown, names: string[]) => {
    const path = fileOf(file, String(specifier))
    if (path !== undefined) imports.push({ file: path, names })
  }
  visit(tree, (node) => {
    if (node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration')
      add(textOf(node.source), (node.specifiers as Node[]).map(nameOf))
    else if (node.type === 'ExportAllDeclaration') add(textOf(node.source), ['*'])
    else if (node.type === 'TsImportType') add(textOf(node.argument), ['*'])
    else if (node.type === 'CallExpression' || node.type === 'NewExpression')
      for (const { expression } of (node.arguments ?? []) as { expression: Node }[])
        if (expression.type === 'StringLiteral' && /\.(ts|mjs)$/.test(String(expression.value)))
          add(expression.value, ['*'])
  })
  return { file, imports, exports: exportsOf(tree) }
}

/** The file that a specifier leads to; undefined for a package from elsewhere. */
export function fileOf(file: string, specifier: string): string | undefined {
  if (/^\.{1,2}\//.test(specifier)) return join(dirname(file), specifier)
  const [, name = '', path] = /^(@parley\/[^/]+)(?:\/(.+))?$/.exec(specifier) ?? []
  const found = PACKAGES.get(name)
  if (found === undefined) return undefined
  const target = path === undefined ? found.exports['.'] : found.exports['./*']?.replace('*', path)
  return target === undefined ? undefined : join(found.folder, target)
}

function exportsOf(tree: Parsed): string[] {
  return (tree.body as unknown as Node[]).flatMap((node) => {
    if (node.type !== 'ExportDeclaration') return []
    const declaration = node.declaration as Node
    if (declaration.type !== 'VariableDeclaration')
      return [String(textOf(declaration.identifier ?? declaration.id))]
    return (declaration.declarations as Node[]).flatMap(({ id }) => namesBoundBy(id as Node))
  })
}

/** The names that a declaration binds, whether by itself or by taking an object apart. */
function namesBoundBy(id: Node): string[] {
  if (id.type === 'Identifier') return [String(id.value)]
  return ((id.properties ?? []) as Node[]).map((one) => String(textOf(one.value ?? one.key)))
}

function nameOf(specifier: Node): string {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default'
  if (specifier.type === 'ImportNamespaceSpecifier') return '*'
  return String(textOf(specifier.imported ?? specifier.orig ?? specifier.local))
}

const textOf = (node: unknown): unknown => (node as Node | null)?.value

export function visit(node: unknown, each: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) each(node as Node)
  for (const inner of Object.values(node)) visit(inner, each)
}

function foldersOf(folder: string): string[] {
  return ['campaigns', 'configuration', 'dispatcher', 'identity', 'webhook'].map((name) => join(folder, name))
}
