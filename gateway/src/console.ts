import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express'

/** A file of the bundle, in each form that it is served in. */
interface Asset {
  type: string
  etag: string
  bodies: Record<'br' | 'gzip' | 'identity', Buffer>
}

/** Only what this gateway serves itself; `blob:` is audio that was read with the token in a header. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
}
const PAGE = 'index.html'
const YEAR = 'public, max-age=31536000, immutable'
// Browsers ask again each time, which costs a 304.
const ASK_AGAIN = 'no-cache'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const BUNDLE = fileURLToPath(new URL('../console/dist', import.meta.url))

/**
 * The console at `/console`, to which `/` sends browsers. Every path below it but `assets` is the page,
 * which reads the path itself. It needs no token; `admit` throws for a caller that asks too often. Without a bundle
 * (`gateway/console/build.ts` makes it) there is no console.
 */
export function consolePages({ admit }: { admit(req: Request): void }): Router {
  const bundle = createBundle(BUNDLE)
  const serve: RequestHandler = async (req, res) => {
    admit(req)
    const assets = await bundle()
    const isAsset = req.path.startsWith('/assets/')
    const asset = assets?.get(isAsset ? req.path.slice('/assets/'.length) : PAGE)
    if (asset === undefined) throw new Problem('not_found')
    send(req, res, { asset, caching: isAsset ? YEAR : ASK_AGAIN })
  }
  const leadToConsole = async (res: Response, next: NextFunction) => {
    if ((await bundle()) === undefined) return next()
    res.set({ vary: 'accept', 'cache-control': ASK_AGAIN }).redirect(302, '/console')
  }
  const router = Router({ caseSensitive: true })
  router.use((req, res, next) => (isBrowserAtRoot(req) ? leadToConsole(res, next) : next()))
  router.use('/console', (req, res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD') return serve(req, res, next)
    admit(req)
    return methodNotAllowed('GET', 'HEAD')(req, res, next)
  })
  return router
}

function isBrowserAtRoot({ path, method, headers }: Request): boolean {
  return path === '/' && method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')
}

function send(req: Request, res: Response, { asset, caching }: { asset: Asset; caching: string }): void {
  res.set({ ...HEADERS, 'content-type': asset.type, etag: asset.etag, 'cache-control': caching })
  if (req.headers['if-none-match'] === asset.etag) return void res.status(304).end()
  const accepted = req.headers['accept-encoding'] ?? ''
  const encoding = (['br', 'gzip'] as const).find((name) => new RegExp(`\\b${name}\\b`).test(accepted))
  if (encoding !== undefined) res.set('content-encoding', encoding)
  const body = asset.bodies[encoding ?? 'identity']
  res.set('content-length', String(body.length))
  res.end(req.method === 'HEAD' ? undefined : body)
}

/** Reads the bundle once, when it is first asked for; one that could not be read is read again the next time. */
function createBundle(directory: string): () => Promise<ReadonlyMap<string, Asset> | undefined> {
  let loaded: Promise<ReadonlyMap<string, Asset>> | undefined
  return async () => {
    loaded ??= loadBundle(directory)
    try {
      return await loaded
    } catch {
      loaded = undefined
      return undefined
    }
  }
}

async function loadBundle(directory: string): Promise<ReadonlyMap<string, Asset>> {
  const names = (await readdir(directory)).filter((name) => Object.hasOwn(TYPES, extname(name)))
  if (!names.includes(PAGE)) throw new Error('the bundle has no page')
  const assets = names.map(async (name) => [name, await loadAsset(join(directory, name))] as const)
  return new Map(await Promise.all(assets))
}

async function loadAsset(file: string): Promise<Asset> {
  const identity = await readFile(file)
  // Weak, since it stands for all forms.
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)])
  return { type: TYPES[extname(file)] ?? '', etag, bodies: { br, gzip: zipped, identity } }
}
