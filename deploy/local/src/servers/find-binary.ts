import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of an executable in one of `folders`, else on the PATH. */
export function findBinary(name: string, folders: string[] = []): string | undefined {
  const places = [...folders, ...(process.env.PATH ?? '').split(delimiter)].filter((folder) => folder !== '')
  return places.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
