import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { PAGE, START } from './page.ts'

/** A file that is served as it is. */
export interface Asset {
  type: string
  etag: string
  body: Buffer
  gzipped: Buffer
}

const openApiDocument = new URL('../../../docs/openapi.json', import.meta.url)
const ofRenderer = (file: string) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)

const SOURCES: Readonly<Record<string, { type: string; read(): Promise<Buffer> }>> = {
  '/openapi.json': { type: 'application/json; charset=utf-8', read: () => readFile(openApiDocument) },
  '/docs': { type: 'text/html; charset=utf-8', read: async () => Buffer.from(PAGE) },
  '/docs/start.js': { type: 'text/javascript; charset=utf-8', read: async () => Buffer.from(START) },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: () => readFile(ofRenderer('swagger-ui-bundle.js')),
  },
  '/docs/swagger-ui.css': {
    type: 'text/css; charset=utf-8',
    read: () => readFile(ofRenderer('swagger-ui.css')),
  },
  '/docs/favicon-32x32.png': { type: 'image/png', read: () => readFile(ofRenderer('favicon-32x32.png')) },
}

/** Finds what is served under a path; undefined where nothing is. Each is read once, when it is first asked for. */
export function createAssets(): (path: string) => Promise<Asset> | undefined {
  const loaded = new Map<string, Promise<Asset>>()
  return (path) => {
    const source = Object.hasOwn(SOURCES, path) ? SOURCES[path] : undefined
    if (source === undefined) return undefined
    const asset = loaded.get(path) ?? load(source)
    loaded.set(path, asset)
    // One that could not be read is tried again.
    asset.catch(() => loaded.delete(path))
    return asset
  }
}

async function load({ type, read }: { type: string; read(): Promise<Buffer> }): Promise<Asset> {
  const body = await read()
  // Weak, since it stands for both forms.
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { type, etag, body, gzipped: await promisify(gzip)(body) }
}
