import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CACHE_DIRECTORY } from '@parley/local/checkout'
import { runCommand } from '@parley/local/processes/run-command'

const PACKAGE = 'helm.sh/helm/v4/cmd/helm'
const VERSION = 'v4.3.1'
const BUILD_MS = 360_000

/** A helm to run, or why there is none. */
export type Helm = { command: string } | { command: undefined; reason: string }

/**
 * The helm that was built before, that of the PATH (3 or later), or with `build` one that Go builds: at the lowest priority,
 * at most 6 minutes (on two free cores it takes 4, and what was compiled is cached).
 */
export async function findHelm(options: { build: boolean }): Promise<Helm> {
  const directory = join(CACHE_DIRECTORY, `helm-${VERSION}`)
  const built = join(directory, 'helm')
  if (existsSync(built)) return { command: built }
  const installed = onPath('helm')
  if (installed !== undefined && isSupported(installed)) return { command: installed }
  const go = options.build ? onPath('go') : undefined
  if (go === undefined)
    return { command: undefined, reason: `there is no helm${options.build ? ', and no Go to build it' : ''}` }
  try {
    await build(go, directory)
    return { command: built }
  } catch (error) {
    return { command: undefined, reason: `go install ${PACKAGE}: ${(error as Error).message}` }
  }
}

async function build(go: string, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true })
  await runCommand({
    command: 'nice',
    args: ['-n', '19', go, 'install', `${PACKAGE}@${VERSION}`],
    owner: directory,
    env: { GOBIN: directory },
    timeoutMs: BUILD_MS,
  })
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

function isSupported(helm: string): boolean {
  try {
    const version = execFileSync(helm, ['version', '--short'], { encoding: 'utf8', timeout: 10_000 })
    return /^v[34]\./.test(version)
  } catch {
    return false
  }
}
