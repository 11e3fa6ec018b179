import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from '@swc/core'
import { fileOf, type Node, visit } from './modules.ts'

/** A function of a file, and what it names. */
interface Room {
  file: string
  name: string
  mentions: Set<string>
}

/** The things met on the way from a function through all that it calls in the same folder. */
interface Walk {
  functions: number
  files: number
  /** The folders of what is called elsewhere, this one included. */
  folders: number
}

/**
 * Follows what a function calls, and what that calls, within the folder of its file: by the names of the functions of a file,
 * and of those that it imports. A method counts as its class.
 */
export async function walkFrom(file: string, name: string): Promise<Walk> {
  const folder = dirname(file)
  const files = new Map<string, Promise<{ rooms: Map<string, Room>; imported: Map<string, string> }>>()
  const read = (path: string) => {
    const known = files.get(path) ?? roomsOf(path)
    files.set(path, known)
    return known
  }
  const met = new Map<string, Room>()
  const folders = new Set<string>()
  const enter = async (path: string, of: string): Promise<void> => {
    const key = `${path}: ${of}`
    if (met.has(key)) return
    const { rooms, imported } = await read(path)
    const room = rooms.get(of)
    if (room === undefined) return
    met.set(key, room)
    folders.add(dirname(path))
    for (const mention of room.mentions) {
      if (rooms.has(mention)) await enter(path, mention)
      const other = imported.get(mention)
      if (other === undefined) continue
      folders.add(dirname(other))
      if (dirname(other) === folder) await enter(other, mention)
    }
  }
  await enter(file, name)
  return {
    functions: met.size,
    files: new Set([...met.values()].map((room) => room.file)).size,
    folders: folders.size,
  }
}

/** The files that docs/architecture.md names as the path of a message. */
export function pathFiles(): string[] {
  const page = readFileSync('docs/architecture.md', 'utf8')
  const [, path = ''] = page.split('## The same path by files', 2)
  const table = path.split('\n## ', 1)[0] ?? ''
  return [...new Set([...table.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => file))]
}

async function roomsOf(file: string) {
  const tree = await parse(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2024' })
  const rooms = new Map<string, Room>()
  const imported = new Map<string, string>()
  for (const node of tree.body as unknown as Node[]) {
    if (node.type === 'ImportDeclaration' && node.typeOnly !== true) {
      const from = fileOf(file, String((node.source as Node).value))
      for (const { local, isTypeOnly } of node.specifiers as Node[])
        if (from !== undefined && isTypeOnly !== true) imported.set(String((local as Node).value), from)
    }
    const declaration = (node.type === 'ExportDeclaration' ? node.declaration : node) as Node
    for (const [name, body] of declared(declaration)) {
      const mentions = new Set<string>()
      visit(body, (inner) => {
        if (inner.type === 'Identifier') mentions.add(String(inner.value))
      })
      mentions.delete(name)
      rooms.set(name, { file, name, mentions })
    }
  }
  return { rooms, imported }
}

function declared(node: Node): [string, unknown][] {
  const named = (id: unknown) => String((id as Node).value)
  if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration')
    return [[named(node.identifier), node.body ?? node]]
  if (node.type !== 'VariableDeclaration') return []
  return (node.declarations as Node[]).flatMap(({ id, init }) =>
    (id as Node).type === 'Identifier' ? [[named(id), init] as [string, unknown]] : [],
  )
}
