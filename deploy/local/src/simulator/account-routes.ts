import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Behaviours } from './behaviours.ts'
import type { Templates } from './templates.ts'

/** For a template that is known in any language. */
const LANGUAGES = ['en_US', 'pt_BR']
const FIRST_PAGE = 100

const templateQuery = z.looseObject({ name: z.string().optional() })

/**
 * The Cloud API's routes of an account: `GET /v<NN>.<n>/{phoneNumberId}` of a number, of which there are as many as are
 * asked for, and `GET /v<NN>.<n>/{businessAccountId}/message_templates` of its templates.
 */
export function accountRoutes(options: {
  templates: Pick<Templates, 'list'>
  behaviours: Pick<Behaviours, 'messagesPerSecond'>
  checks: RequestHandler<{ version: string; id: string }>[]
}): Router {
  const { templates, behaviours, checks } = options
  const router = Router()
  router.get('/:version/:id/message_templates', ...checks, (req, res) => {
    const { name } = templateQuery.parse(req.query)
    const data = templates
      .list()
      .filter((template) => name === undefined || template.name === name)
      .flatMap(({ name, languages = LANGUAGES }) =>
        languages.map((language) => ({ name, language, status: 'APPROVED', id: `${name}.${language}` })),
      )
    res.json({ data: data.slice(0, FIRST_PAGE) })
  })
  router.get('/:version/:id', ...checks, (req, res) => {
    const { id } = req.params
    const perSecond = behaviours.messagesPerSecond(id)
    res.json({
      ...{ id, display_phone_number: `+${id}`, verified_name: 'Simulated', quality_rating: 'GREEN' },
      ...{ platform_type: 'CLOUD_API', is_on_biz_app: perSecond < 80, messaging_limit_tier: 'TIER_100K' },
      throughput: { level: perSecond > 80 ? 'HIGH' : 'STANDARD' },
    })
  })
  return router
}
