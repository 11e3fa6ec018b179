import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Templates } from './templates.ts'

/** For a template that is known in any language. */
const LANGUAGES = ['en_US', 'pt_BR']
const FIRST_PAGE = 100

const templateQuery = z.looseObject({ name: z.string().optional() })

/**
 * What the Cloud API says of an account: `GET /v<NN>.<n>/{phoneNumberId}` of a number, of which there are as many as are
 * asked for, and `GET /v<NN>.<n>/{businessAccountId}/message_templates` of its templates.
 */
export function accountRoutes(options: {
  templates: Pick<Templates, 'list'>
  checks: RequestHandler<{ version: string; id: string }>[]
}): Router {
  const { templates, checks } = options
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
    res.json({ id, display_phone_number: `+${id}`, verified_name: 'Simulated', quality_rating: 'GREEN' })
  })
  return router
}
