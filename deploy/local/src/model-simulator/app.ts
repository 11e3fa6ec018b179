import express, { type ErrorRequestHandler, type Express, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { chatRoutes, failAsScripted, keyOf } from './chat-routes.ts'
import { ProviderError } from './provider-error.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import { createScript, type Script, scriptBody } from './script.ts'

const MAX_PAGE = 10_000

const listQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(1_000),
})

const invalidQuestions: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: { message: z.prettifyError(error) } })
}

const MAX_BODY_BYTES = 32 * 1024 * 1024

/** The time at which every model was made, in the list of models. */
const CREATED = 1_735_689_600

/**
 * An OpenAI-compatible server without a model: it plays by the rules of `rules.ts`, or by a script, with routes beside
 * the API under /simulator to give it one and to see what it was asked.
 */
export function buildModelSimulator(): Express {
  const script = createScript()
  const requests = createRequestLog()
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  app.get('/health/live', (_req, res) => void res.json({ status: 'live' }))
  app.get('/health/ready', (_req, res) => void res.json({ status: 'ready' }))
  app.use('/simulator', controlRoutes({ script, requests }))
  app.use('/v1', checkKey, chatRoutes({ script, requests }), transcriptionRoutes({ script, requests }))
  app.get('/v1/models', (_req, res) => {
    const model = { id: 'simulator', object: 'model', created: CREATED, owned_by: 'parley' }
    res.json({ object: 'list', data: [model] })
  })
  app.use((req) => {
    throw new ProviderError({ status: 404, message: `Invalid URL (${req.method} ${req.path})` })
  })
  app.use(providerErrors)
  return app
}

/** Any key will do, and none; `expired` does not. */
const checkKey: express.RequestHandler = (req, _res, next) => {
  if (req.headers.authorization === 'Bearer expired')
    throw new ProviderError({
      status: 401,
      message: 'Incorrect API key provided: expired.',
      code: 'invalid_api_key',
    })
  next()
}

const providerErrors: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = toProviderError(error)
  if (refusal.retryAfterSeconds !== undefined) res.set('retry-after', String(refusal.retryAfterSeconds))
  res.status(refusal.status).json(refusal.body())
}

function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  if (error instanceof z.ZodError) return new ProviderError({ status: 400, message: z.prettifyError(error) })
  const { status } = error as { status?: number }
  if (status !== undefined && status < 500)
    return new ProviderError({ status, message: 'The body is not readable.' })
  return new ProviderError({ status: 500, message: 'Something went wrong' })
}

/** POST /v1/audio/transcriptions: the text of the script, else how many bytes the audio has. */
function transcriptionRoutes(options: {
  script: Pick<Script, 'next'>
  requests: Pick<RequestLog, 'add'>
}): Router {
  const { script, requests } = options
  const router = Router()
  const raw = express.raw({ type: 'multipart/form-data', limit: MAX_BODY_BYTES })
  router.post('/audio/transcriptions', raw, (async (req, res) => {
    const { file, model } = await readForm(req.body, req.headers['content-type'])
    const path = '/v1/audio/transcriptions'
    const body = { file: { name: file.name, type: file.type, bytes: file.size } }
    requests.add({ path, model, stream: false, messages: 0, lastUserText: '', key: keyOf(req), body })
    const scripted = script.next({ path: 'transcription', model, lastUserText: '', text: () => '' })
    await failAsScripted(scripted, res)
    if (res.closed || res.writableEnded || scripted?.broken === 'silent') return
    if (scripted?.broken !== undefined) return void res.type('json').send('{"text": ')
    res.json({ text: scripted?.text ?? `Audio of ${file.size} bytes` })
  }) satisfies RequestHandler)
  return router
}

async function readForm(body: unknown, contentType = ''): Promise<{ file: File; model: string }> {
  const bytes = Buffer.isBuffer(body) ? new Uint8Array(body) : new Uint8Array()
  const form = await new Response(bytes, { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => undefined)
  const [file, model] = [form?.get('file'), form?.get('model')]
  if (file instanceof File && typeof model === 'string') return { file, model }
  throw new ProviderError({ status: 400, message: 'file and model are required' })
}

/** Routes for the script and the requests: for the demo and the tests, no part of OpenAI's API. */
function controlRoutes({ script, requests }: { script: Script; requests: RequestLog }): Router {
  const router = Router()
  router.use(express.json({ limit: '8mb' }))
  router.put('/script', (req, res) => {
    const { responses } = scriptBody.parse(req.body)
    script.set(responses)
    res.json({ left: script.left() })
  })
  router.get('/script', (_req, res) => void res.json({ left: script.left() }))
  router.delete('/script', (_req, res) => {
    script.set([])
    res.json({ left: 0 })
  })
  router.get('/requests', (req, res) => {
    const query = listQuery.parse(req.query)
    const data = requests.list(query)
    res.json({ data, next: data.at(-1)?.n ?? query.after, count: requests.count() })
  })
  router.delete('/requests', (_req, res) => {
    requests.clear()
    res.json({ count: requests.count() })
  })
  router.use(invalidQuestions)
  return router
}
