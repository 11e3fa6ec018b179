import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findBinary } from '@parley/local/servers/find-binary'
import { outputOf } from '../../lab/system/processes.ts'

/** The parts that Outpost is built and run from. */
export interface OutpostParts {
  source: string
  go: string
  /** PostgreSQL's `initdb`, `pg_isready` and `postgres`. */
  postgres: Record<(typeof POSTGRES)[number], string>
}

export interface OutpostBinaries {
  /** Applies the migrations. */
  outpost: string
  server: string
}

const POSTGRES = ['initdb', 'pg_isready', 'postgres'] as const
// Where Debian has what the other programs of PostgreSQL call.
const DEBIAN_POSTGRES = '/usr/lib/postgresql'

/** The parts, or those that are not on this machine; the source is the folder `outpost` in `peers`. */
export function findOutpost(peers: string | undefined): OutpostParts | { missing: string[] } {
  const source = peers === undefined ? undefined : join(peers, 'outpost')
  const go = findBinary('go', ['/usr/local/go/bin'])
  const versions = existsSync(DEBIAN_POSTGRES) ? readdirSync(DEBIAN_POSTGRES) : []
  const folders = versions.map((version) => join(DEBIAN_POSTGRES, version, 'bin'))
  const [initdb, ready, postgres] = POSTGRES.map((name) => findBinary(name, folders))
  const hasSource = source !== undefined && existsSync(join(source, 'go.mod'))
  if (hasSource && go && initdb && ready && postgres)
    return { source, go, postgres: { initdb, pg_isready: ready, postgres } }
  return {
    missing: [
      hasSource ? [] : [source === undefined ? 'its source (PEERS is not set)' : `its source (${source})`],
      go ? [] : ['the Go toolchain'],
      initdb && ready && postgres ? [] : ['PostgreSQL'],
    ].flat(),
  }
}

/** Takes minutes where Go's build cache is empty. */
export async function buildOutpost(
  { go, source }: OutpostParts,
  directory: string,
): Promise<OutpostBinaries> {
  const packages = ['./cmd/outpost', './cmd/outpost-server']
  await outputOf(go, ['-C', source, 'build', '-o', `${directory}/`, ...packages], {})
  return { outpost: join(directory, 'outpost'), server: join(directory, 'outpost-server') }
}

/** As Git describes the source; undefined where it is no repository. */
export function versionOf({ source }: OutpostParts): string | undefined {
  if (!existsSync(join(source, '.git'))) return undefined
  try {
    const described = ['-C', source, 'describe', '--tags', '--always']
    return execFileSync('git', described, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
