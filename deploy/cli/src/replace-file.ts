import { chmodSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const OWNER_ONLY = 0o600
const PERMISSIONS = 0o777

/**
 * Writes a file in one step, so that nobody reads half of it. One that is `ownerOnly` is its user's only from the
 * beginning, whoever could read what was there before; another keeps its permissions. What is no file, as
 * `/dev/stdout`, is written to.
 */
export function replaceFile(
  path: string,
  text: string,
  { ownerOnly = false }: { ownerOnly?: boolean } = {},
): void {
  const there = statSync(path, { throwIfNoEntry: false })
  if (there !== undefined && !there.isFile()) {
    writeFileSync(path, text)
    return
  }
  const target = there === undefined ? path : realpathSync(path)
  const next = `${target}.${process.pid}`
  const mode = ownerOnly ? OWNER_ONLY : there && there.mode & PERMISSIONS
  rmSync(next, { force: true })
  try {
    // The file is created anew: a link that somebody left there is not followed.
    writeFileSync(next, text, { flag: 'wx', ...(mode !== undefined && { mode }) })
    if (mode !== undefined) chmodSync(next, mode)
    renameSync(next, target)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  }
}
