import express, { type ErrorRequestHandler, Router } from 'express'
import { z } from 'zod'
import { type Behaviours, behaviour } from './behaviours.ts'
import type { Send, SendLog } from './send-log.ts'
import type { StatusPoster } from './status-poster.ts'

const MAX_PAGE = 10_000

const phoneNumberId = z.string().min(1).max(128).optional()
const listQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(1_000),
  phoneNumberId,
})
const summaryQuery = z.strictObject({ phoneNumberId })
const behaviourBody = behaviour.extend({ phoneNumberId })

const webhookBody = z.strictObject({
  phoneNumberId: z.string().min(1).max(128),
  url: z.url({ protocol: /^https?$/ }),
  appSecret: z.string().min(1),
})

interface Parts {
  sends: SendLog
  behaviours: Behaviours
  statuses: Pick<StatusPoster, 'register'>
}

/** What was sent, and how to fail: for the demo and the tests, no part of Meta's API. */
export function inspectionRoutes({ sends, behaviours, statuses }: Parts): Router {
  const router = Router()
  router.get('/sends', (req, res) => {
    const query = listQuery.parse(req.query)
    const data = sends.list(query)
    res.json({ data, next: data.at(-1)?.n ?? query.after })
  })
  router.get('/summary', (req, res) => {
    const { phoneNumberId } = summaryQuery.parse(req.query)
    res.json({ ...summaryOf(sends.all(phoneNumberId)), last: sends.last() })
  })
  router.post('/behaviour', express.json(), (req, res) => {
    const { phoneNumberId, ...wanted } = behaviourBody.parse(req.body)
    behaviours.set(wanted, phoneNumberId)
    res.json({ phoneNumberId: phoneNumberId ?? null, ...wanted })
  })
  router.post('/webhook', express.json(), (req, res) => {
    const webhook = webhookBody.parse(req.body)
    statuses.register(webhook)
    res.json({ phoneNumberId: webhook.phoneNumberId, url: webhook.url })
  })
  router.use(invalidQuestions)
  return router
}

/** `repeated` counts the sends that carry callback data which an earlier one carried already. */
function summaryOf(sends: readonly Send[]) {
  const known = new Set<string>()
  let repeated = 0
  for (const { opaque } of sends) {
    if (opaque !== null && known.has(opaque)) repeated++
    else if (opaque !== null) known.add(opaque)
  }
  return {
    sends: sends.length,
    templates: sends.filter(({ type }) => type === 'template').length,
    texts: sends.filter(({ type }) => type === 'text').length,
    recipients: new Set(sends.map(({ to }) => to)).size,
    repeated,
  }
}

const invalidQuestions: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: { message: z.prettifyError(error) } })
}
