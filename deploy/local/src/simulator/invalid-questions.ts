import type { ErrorRequestHandler } from 'express'
import { z } from 'zod'

/** Says what is wrong with a request to the routes that are no part of Meta's API. */
export const invalidQuestions: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: { message: z.prettifyError(error) } })
}
