import { Router } from 'express'
import { z } from 'zod'
import { invalidQuestions } from './invalid-questions.ts'
import type { Send, SendLog } from './send-log.ts'
import type { TroubleLog } from './trouble-log.ts'

const MAX_PAGE = 10_000

const phoneNumberId = z.string().min(1).max(128).optional()
const listQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(1_000),
  phoneNumberId,
})
const summaryQuery = z.strictObject({ phoneNumberId })
/** What was sent: for the demo and the tests, no part of Meta's API. */
export function inspectionRoutes({ sends, troubles }: { sends: SendLog; troubles: TroubleLog }): Router {
  const router = Router()
  router.get('/sends', (req, res) => {
    const query = listQuery.parse(req.query)
    const data = sends.list(query)
    res.json({ data, next: data.at(-1)?.n ?? query.after })
  })
  router.get('/summary', (req, res) => {
    const { phoneNumberId } = summaryQuery.parse(req.query)
    const counts = { ...summaryOf(sends.all(phoneNumberId)), ...troubles.troubles(phoneNumberId) }
    res.json({ ...counts, last: sends.last() })
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
