import type { ErrorRequestHandler, Express } from 'express'
import express from 'express'
import { accountRoutes } from './account-routes.ts'
import { createBehaviours } from './behaviours.ts'
import { controlRoutes, inspectionRoutes } from './control-routes.ts'
import { createCustomerWindows, createLimits } from './limits.ts'
import { createMediaStore, mediaRoutes } from './media-store.ts'
import { checkToken, checkVersion, messageRoutes } from './message-routes.ts'
import { MetaError } from './meta-error.ts'
import { createReceiptLog } from './receipt-log.ts'
import { createTroubleLog, openSendLog } from './send-log.ts'
import { shopRoutes } from './shop-routes.ts'
import { createStatusPoster } from './status-poster.ts'
import { createTemplates } from './templates.ts'

export interface Simulator {
  app: Express
  /** Flushes what was recorded. */
  close(): Promise<void>
}

/**
 * The WhatsApp Cloud API as far as sending goes, with routes beside it under /simulator to see what was sent
 * and to make it misbehave. Sends are stored in `directory` when there is one, else in memory.
 */
export async function buildSimulator({ directory }: { directory?: string | undefined }): Promise<Simulator> {
  const sends = await openSendLog({ directory })
  const monotonic = () => performance.now()
  const behaviours = createBehaviours(monotonic)
  const limits = createLimits(monotonic)
  const windows = createCustomerWindows(Date.now)
  const templates = createTemplates()
  const troubles = createTroubleLog()
  const statuses = createStatusPoster(troubles)
  const receipts = createReceiptLog()
  const media = createMediaStore()
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  app.get('/health/live', (_req, res) => void res.json({ status: 'live' }))
  app.get('/health/ready', (_req, res) => void res.json({ status: 'ready' }))
  app.use('/simulator', inspectionRoutes({ sends, receipts, troubles }))
  app.use('/simulator', controlRoutes({ behaviours, statuses, templates, windows, media }))
  app.use('/shop', shopRoutes())
  app.use(messageRoutes({ sends, receipts, troubles, behaviours, statuses, templates, windows, limits }))
  app.use(mediaRoutes({ media, checks: [checkVersion, checkToken] }))
  app.use(accountRoutes({ templates, behaviours, checks: [checkVersion, checkToken] }))
  app.use(() => {
    throw new MetaError({ status: 400, code: 2500, message: 'Unknown path components' })
  })
  app.use(metaErrors)
  return {
    app,
    close: () => {
      statuses.close()
      return sends.close()
    },
  }
}

const metaErrors: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = toMetaError(error)
  if (refusal.retryAfterSeconds !== undefined) res.set('retry-after', String(refusal.retryAfterSeconds))
  res.status(refusal.status).json(refusal.body())
}

function toMetaError(error: unknown): MetaError {
  if (error instanceof MetaError) return error
  const { status } = error as { status?: number }
  if (status !== undefined && status < 500) {
    return new MetaError({
      status: 400,
      code: 100,
      message: 'Invalid parameter',
      details: 'The body is not JSON',
    })
  }
  return new MetaError({ status: 500, code: 131000, message: 'Something went wrong' })
}
