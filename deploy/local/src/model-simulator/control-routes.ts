import express, { type ErrorRequestHandler, Router } from 'express'
import { z } from 'zod'
import type { RequestLog } from './request-log.ts'
import { type Script, scriptBody } from './script.ts'

const MAX_PAGE = 10_000

const listQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(1_000),
})

/** What to answer, and what was asked: for the demo and the tests, no part of OpenAI's API. */
export function controlRoutes({ script, requests }: { script: Script; requests: RequestLog }): Router {
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

const invalidQuestions: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: { message: z.prettifyError(error) } })
}
