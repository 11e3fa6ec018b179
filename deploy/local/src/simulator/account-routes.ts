import express, { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Behaviours } from './behaviours.ts'
import type { Templates } from './templates.ts'

const MAX_PAGE = 100
const MAX_BODY_BYTES = 256 * 1024
/** From this version on the limit of people is the portfolio's. */
const PORTFOLIO_VERSION = 24

const templateQuery = z.looseObject({
  name: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).catch(MAX_PAGE).default(MAX_PAGE),
  after: z.coerce.number().int().min(0).catch(0).default(0),
})
const deletionQuery = z.looseObject({ name: z.string(), hsm_id: z.string().optional() })

/**
 * The Cloud API's routes of an account: `GET /v<NN>.<n>/{phoneNumberId}` of a number or an account, of which there are
 * as many as are asked for, `/v<NN>.<n>/{businessAccountId}/message_templates` of its templates, `/v<NN>.<n>/{businessAccountId}/subscribed_apps`, and `POST /v<NN>.<n>/{id}` to edit one.
 */
export function accountRoutes(options: {
  templates: Pick<Templates, 'ofAccounts'>
  behaviours: Pick<Behaviours, 'of'>
  checks: RequestHandler<{ version: string; id: string }>[]
}): Router {
  const { templates, behaviours, checks } = options
  const router = Router()
  const { ofAccounts } = templates
  const json = express.json({ limit: MAX_BODY_BYTES, type: () => true })
  router.get('/:version/:id/message_templates', ...checks, (req, res) => {
    const { name, limit, after } = templateQuery.parse(req.query)
    const all = ofAccounts.list(req.params.id, name)
    const data = all.slice(after, after + limit)
    const end = after + data.length
    res.json({
      data,
      paging: {
        cursors: { before: String(after), after: String(end) },
        ...(end < all.length && { next: `https://graph.invalid/next?after=${end}` }),
      },
    })
  })
  router.post('/:version/:id/message_templates', ...checks, json, (req, res) => {
    const { id, status, category } = ofAccounts.create(req.params.id, req.body)
    res.json({ id, status, category })
  })
  router.delete('/:version/:id/message_templates', ...checks, (req, res) => {
    const { name, hsm_id: id } = deletionQuery.parse(req.query)
    ofAccounts.remove(req.params.id, { name, id })
    res.json({ success: true })
  })
  router.get('/:version/:id/subscribed_apps', ...checks, (_req, res) => {
    res.json({ data: [{ whatsapp_business_api_data: { id: '4711', name: 'Simulated app', link: '' } }] })
  })
  router.post('/:version/:id', ...checks, json, (req, res) => {
    ofAccounts.edit(req.params.id, req.body)
    res.json({ success: true })
  })
  router.get('/:version/:id', ...checks, (req, res) => {
    const { id, version } = req.params
    const { messagesPerSecond: perSecond, quality, messagingLimit, ...said } = behaviours.of(id)
    const { portfolio = `portfolio-${id}` } = said
    const limit =
      Number.parseInt(version.slice(1), 10) < PORTFOLIO_VERSION
        ? 'messaging_limit_tier'
        : 'whatsapp_business_manager_messaging_limit'
    res.json({
      ...{ id, display_phone_number: `+${id}`, verified_name: 'Simulated', quality_rating: quality },
      ...{ platform_type: 'CLOUD_API', is_on_biz_app: perSecond < 80, [limit]: messagingLimit },
      throughput: { level: perSecond > 80 ? 'HIGH' : 'STANDARD' },
      owner_business_info: { id: portfolio, name: 'Simulated' },
    })
  })
  return router
}
