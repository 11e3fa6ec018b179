import express, { type ErrorRequestHandler, type Express } from 'express'
import { z } from 'zod'
import { chatRoutes } from './chat-routes.ts'
import { controlRoutes } from './control-routes.ts'
import { ProviderError } from './provider-error.ts'
import { createRequestLog } from './request-log.ts'
import { createScript } from './script.ts'
import { transcriptionRoutes } from './transcription-routes.ts'

/** What the list of models says of when it was made. */
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
