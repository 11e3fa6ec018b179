import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import { providerNamed } from '@parley/shared/providers/registry'
import type { TemplatePreview } from '@parley/shared/providers/templates'
import { definitionOf, type TemplateRecord } from './template-store.ts'

/** A template as a person sees it, and whether a message with the same arguments would be sent now. */
interface ShownTemplate extends TemplatePreview {
  fits: boolean
  reason?: string
}

/** A template with the arguments of a message. Throws `not_found` where it can't be shown, and `validation_failed`. */
export function previewTemplate(record: TemplateRecord, given: JsonObject): ShownTemplate {
  const { name: template, language, provider } = record
  const { templates, outbound } = providerNamed(provider) ?? {}
  if (templates === undefined || outbound?.objects === undefined) throw new Problem('not_found')
  const composed = outbound.objects.compose({ ...given, template, language })
  if (composed.kind === 'refused')
    throw new Problem('validation_failed', {
      errors: composed.errors.map(({ path, message }) => ({
        path: `/${path.join('/')}`,
        code: 'invalid_template',
        message,
      })),
    })
  const definition = definitionOf(record)
  const fit = templates.fitOf([definition], composed.object)
  return {
    ...templates.preview(definition, composed.object),
    fits: fit.kind === 'fits',
    ...(fit.kind !== 'fits' && { reason: fit.reason }),
  }
}
