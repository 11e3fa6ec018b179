import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type ErrorCode, errors, problemType } from '@parley/shared/errors'
import { methodNotAllowed } from '@parley/shared/problem'
import { type Request, type RequestHandler, Router } from 'express'
import { renderOpenApi30 } from './openapi-3.0.ts'

const ERROR_PAGE_STYLE = `body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
code { font-family: ui-monospace, monospace; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } a { color: #8ab4f8; } }
`

/** A file that is served as it is. */
interface Asset {
  type: string
  etag: string
  body: Buffer
  gzipped: Buffer
}

/** The page around the renderer; nothing in it is inline, so that its policy needs no exception. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** Starts the renderer in the page; it does not store tokens that are typed in. */
const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  persistAuthorization: false,
})
`

/** Only what this gateway serves itself; the renderer's style sheet has its icons inside. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
  // Browsers ask again each time, which costs a 304.
  'cache-control': 'public, no-cache',
}

const openApiDocument = new URL('../../docs/openapi.json', import.meta.url)
const ofRenderer = (file: string) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)

const textPage = (text: string) => ({
  type: 'text/html; charset=utf-8',
  read: async () => Buffer.from(text),
})

const SOURCES: Readonly<Record<string, { type: string; read(): Promise<Buffer> }>> = {
  '/openapi.json': { type: 'application/json; charset=utf-8', read: () => readFile(openApiDocument) },
  '/openapi-3.0.json': {
    type: 'application/json; charset=utf-8',
    read: async () => {
      const document = JSON.parse(await readFile(openApiDocument, 'utf8'))
      return Buffer.from(`${JSON.stringify(renderOpenApi30(document), null, 1)}\n`)
    },
  },
  '/docs': textPage(PAGE),
  ...Object.fromEntries(Object.entries(errorPages()).map(([path, text]) => [path, textPage(text)])),
  '/docs/errors.css': { type: 'text/css; charset=utf-8', read: async () => Buffer.from(ERROR_PAGE_STYLE) },
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

/**
 * `GET /openapi.json`, the same as OpenAPI 3.0 at `/openapi-3.0.json`, for people at `/docs` with all that the page
 * needs, and `/docs/errors` with a page for each error code. It needs no token; `admit` throws for a caller that asks too often.
 */
export function documentation({ admit }: { admit(req: Request): void }): Router {
  const serve = serving(admit)
  const router = Router({ caseSensitive: true })
  for (const path of ['/openapi.json', '/openapi-3.0.json', '/docs']) {
    router
      .route(path)
      .get(serve)
      .all(
        (req, _res, next) => {
          admit(req)
          next()
        },
        methodNotAllowed('GET', 'HEAD'),
      )
  }
  router.use('/docs', (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return next()
    return serve(req, res, next)
  })
  return router
}

function serving(admit: (req: Request) => void): RequestHandler {
  const assets = createAssets()
  return async (req, res, next) => {
    const asset = await assets(req.baseUrl + req.path)
    if (asset === undefined) return next('route')
    admit(req)
    res.set({ ...HEADERS, 'content-type': asset.type, etag: asset.etag })
    if (req.headers['if-none-match'] === asset.etag) return void res.status(304).end()
    const zipped = /\bgzip\b/.test(req.headers['accept-encoding'] ?? '')
    if (zipped) res.set('content-encoding', 'gzip')
    const body = zipped ? asset.gzipped : asset.body
    res.set('content-length', String(body.length))
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/** Finds what is served under a path; undefined where nothing is. Each is read once, when it is first asked for. */
function createAssets(): (path: string) => Promise<Asset> | undefined {
  const loaded = new Map<string, Promise<Asset>>()
  return (path) => {
    const source = Object.hasOwn(SOURCES, path) ? SOURCES[path] : undefined
    if (source === undefined) return undefined
    const asset = loaded.get(path) ?? load(source)
    loaded.set(path, asset)
    // A file that could not be read is read again the next time.
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

/** The page of each error code, by its path, and that of all of them; what problems name as their `type`. */
function errorPages(): Record<string, string> {
  const codes = Object.keys(errors) as ErrorCode[]
  return {
    '/docs/errors': indexPage(codes),
    ...Object.fromEntries(codes.map((code) => [problemType(code), errorPage(code)])),
  }
}

function errorPage(code: ErrorCode): string {
  const { status, title, help } = errors[code]
  return page(
    code,
    `<p><a href="/docs/errors">All errors</a></p>
<h1>${status} <code>${code}</code></h1>
<p><strong>${html(title)}.</strong></p>
<p>${html(help)}</p>
<p>The response is a problem as RFC 9457 has it; its <code>requestId</code> finds it in the logs.</p>`,
  )
}

function indexPage(codes: ErrorCode[]): string {
  const rows = codes.map((code) => {
    const { status, title } = errors[code]
    return `<li>${status} <a href="${problemType(code)}"><code>${code}</code></a> ${html(title)}</li>`
  })
  return page('Errors', `<h1>Errors</h1>\n<ul>\n${rows.join('\n')}\n</ul>`)
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Parley</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/errors.css">
</head>
<body>
${content}
</body>
</html>
`
}

/** Text as HTML; what stands between backticks is code. */
function html(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
