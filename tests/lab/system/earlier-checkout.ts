import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { runCommand } from '@parley/local/processes/run-command'
import { SetupError } from '@parley/local/setup-error'

const EXTRACT_MS = 60_000
const OWN = '@parley'
/** Of the root, and of the workspaces that have packages of their own. */
const WORKSPACES = readdirSync(join(CHECKOUT, 'services')).map((name) => join('services', name))
const WITH_PACKAGES = ['', 'shared', 'gateway', 'deploy/local', ...WORKSPACES]

/** A folder with the code of an earlier commit, which processes run until it is turned to this checkout. */
export interface EarlierCheckout {
  /** The directory that the processes are started from. */
  path: string
  /** From now on what starts has the code of this checkout. */
  upgrade(): void
}

/** Extracts `commit` into `directory`. It runs on the packages of this checkout. Throws a SetupError where there is none. */
export async function extractCheckout(options: {
  commit: string
  directory: string
}): Promise<EarlierCheckout> {
  const { commit, directory } = options
  const earlier = join(directory, 'earlier')
  const archive = join(directory, 'earlier.tar')
  mkdirSync(earlier, { recursive: true })
  const run = (command: string, args: string[]) =>
    runCommand({ command, args, owner: directory, cwd: CHECKOUT, timeoutMs: EXTRACT_MS })
  await run('git', ['archive', '--output', archive, commitOf(commit)])
  await run('tar', ['-xf', archive, '-C', earlier])
  for (const folder of WITH_PACKAGES) linkPackages(folder, earlier)
  linkLaterServices(earlier)
  const path = join(directory, 'current')
  symlinkSync(earlier, path)
  return {
    path,
    upgrade() {
      symlinkSync(CHECKOUT, `${path}.next`)
      renameSync(`${path}.next`, path)
    },
  }
}

/** Services that the commit does not have run from this checkout, as an upgrade adds them before it restarts the others. */
function linkLaterServices(earlier: string): void {
  for (const service of WORKSPACES.filter((folder) => !existsSync(join(earlier, folder))))
    symlinkSync(join(CHECKOUT, service), join(earlier, service))
}

function commitOf(name: string): string {
  try {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    return execFileSync('git', args, { cwd: CHECKOUT, encoding: 'utf8' }).trim()
  } catch {
    throw new SetupError(`${name} is no commit of this checkout`)
  }
}

/** Those of others by links to this checkout's; those of the project by the same relative links, so to the earlier ones. */
function linkPackages(folder: string, earlier: string): void {
  if (!existsSync(join(earlier, folder))) return
  const packages = join(earlier, folder, 'node_modules')
  mkdirSync(packages, { recursive: true })
  const present = join(CHECKOUT, folder, 'node_modules')
  const names = existsSync(present) ? readdirSync(present).filter((name) => name !== OWN) : []
  for (const name of names) symlinkSync(join(present, name), join(packages, name))
  for (const name of dependenciesOf(join(earlier, folder)).filter((one) => !names.includes(one))) {
    const moved = WITH_PACKAGES.filter((other) => other !== '')
      .map((other) => join(CHECKOUT, other, 'node_modules', name))
      .find((path) => existsSync(path))
    if (moved !== undefined && !existsSync(join(packages, name))) symlinkSync(moved, join(packages, name))
  }
  const own = join(present, OWN)
  if (!existsSync(own)) return
  mkdirSync(join(packages, OWN))
  for (const name of readdirSync(own)) symlinkSync(readlinkSync(join(own, name)), join(packages, OWN, name))
}

/** Another workspace may have had them, and have them in a version of its own. Those with a scope have not moved. */
function dependenciesOf(folder: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies?: object
  }
  return Object.keys(dependencies).filter((name) => !name.startsWith('@'))
}
