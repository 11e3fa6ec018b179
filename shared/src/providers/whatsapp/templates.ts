import type { TemplateRules } from '../templates.ts'
import { templateApi } from './template-api.ts'
import { namedIn, shapeOf } from './template-definition.ts'
import { errorsOfDraft } from './template-draft.ts'
import { argumentsOf, fieldsOf } from './template-fields.ts'
import { fitOf } from './template-fit.ts'
import { CODE_COMPONENTS, componentsOf, parameterFormatOf, partsOf } from './template-parts.ts'
import { previewOf } from './template-preview.ts'

/** Templates of a WhatsApp business account. */
export const templates: TemplateRules = {
  accountOf: ({ businessAccountId }) => businessAccountId || undefined,
  ...templateApi,
  errorsOf: errorsOfDraft,
  fitOf,
  shapeOf,
  fieldsOf,
  argumentsOf,
  ofParts: (parts) => ({ components: componentsOf(parts), parameterFormat: parameterFormatOf(parts) }),
  partsOf,
  codeComponents: CODE_COMPONENTS,
  namedIn,
  preview: previewOf,
}
