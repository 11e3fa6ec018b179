import { randomUUID } from 'node:crypto'
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { generate } from 'selfsigned'
import { freshDirectory } from './test-servers.ts'

const ALGORITHMS = { keyType: 'ec', algorithm: 'sha256' } as const

interface Issued {
  cert: string
  key: string
}

/** A CA of a test's own. */
export interface TestAuthority {
  /** Its certificate. */
  cert: string
  /** A certificate for host names and addresses, with its key. */
  issue(...hosts: string[]): Promise<Issued>
}

export async function createAuthority(): Promise<TestAuthority> {
  const authority = await generate([{ name: 'commonName', value: `CA ${randomUUID()}` }], {
    ...ALGORITHMS,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  return {
    cert: authority.cert,
    async issue(...hosts) {
      const altNames = hosts.map((host) =>
        isIP(host) === 0 ? { type: 2 as const, value: host } : { type: 7 as const, ip: host },
      )
      const { cert, private: key } = await generate([{ name: 'commonName', value: hosts[0] ?? '' }], {
        ...ALGORITHMS,
        extensions: [{ name: 'subjectAltName', altNames }],
        ca: { key: authority.private, cert: authority.cert },
      })
      return { cert, key }
    },
  }
}

/** Files that are replaced together, as Kubernetes does it with those of a Secret. */
interface MountedFiles<Name extends string> {
  paths: Record<Name, string>
  replace(texts: Record<Name, string>): void
}

export function mountFiles<Name extends string>(texts: Record<Name, string>): MountedFiles<Name> {
  const directory = freshDirectory('tls')
  const names = Object.keys(texts) as Name[]
  const link = join(directory, '..data')
  const replace = (now: Record<Name, string>) => {
    const data = freshDirectory('tls')
    for (const name of names) writeFileSync(join(data, name), now[name], { mode: 0o600 })
    symlinkSync(data, join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), link)
  }
  replace(texts)
  const paths = Object.fromEntries(names.map((name) => [name, join(link, name)])) as Record<Name, string>
  return { paths, replace }
}

/** Has this process, and so the tests' own `fetch`, trust the CA as well; services trust what they are given. */
export function trustInTests({ cert }: Pick<TestAuthority, 'cert'>): void {
  setDefaultCACertificates([...getCACertificates(), cert])
}
