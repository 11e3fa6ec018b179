import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE_DIRECTORY } from '../checkout.ts'
import type { ServerContext } from './server.ts'

const VERSION = '8.0.15'
const SITE = 'https://fastdl.mongodb.org/'
const PROBE_MS = 5_000
const DOWNLOAD_MS = 600_000
const RETRY_AFTER_MS = 24 * 60 * 60 * 1_000

/**
 * The path of the official mongod, downloaded on the first call. Undefined when the site is out of reach or
 * has no build for this system, which is remembered for a day.
 */
export async function downloadMongod({ say, signal }: ServerContext): Promise<string | undefined> {
  const downloadDir = join(CACHE_DIRECTORY, 'mongodb')
  await mkdir(downloadDir, { recursive: true })
  const failure = join(CACHE_DIRECTORY, 'mongodb-download-failed')
  if (await failedLately(failure)) return undefined
  try {
    const { MongoBinary } = await import('mongodb-memory-server-core/lib/util/MongoBinary.js')
    const { DryMongoBinary } = await import('mongodb-memory-server-core/lib/util/DryMongoBinary.js')
    const present = await DryMongoBinary.locateBinary(
      await DryMongoBinary.generateOptions({ version: VERSION, downloadDir }),
    )
    if (present) return present
    await fetch(SITE, { method: 'HEAD', signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]) })
    say(`Downloading MongoDB ${VERSION} …`)
    return await Promise.race([
      MongoBinary.getPath({ version: VERSION, downloadDir }),
      failAfter(DOWNLOAD_MS, signal),
    ])
  } catch {
    signal.throwIfAborted()
    await writeFile(failure, new Date().toISOString())
    return undefined
  }
}

async function failedLately(file: string): Promise<boolean> {
  const at = Date.parse(await readFile(file, 'utf8').catch(() => ''))
  return Date.now() - at < RETRY_AFTER_MS
}

function failAfter(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new Error('The download took too long'))
    setTimeout(end, milliseconds).unref()
    signal.addEventListener('abort', end, { once: true })
  })
}
