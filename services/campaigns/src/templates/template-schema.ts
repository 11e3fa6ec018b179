import { jsonObject } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { TemplateRecord } from './template-store.ts'

const MAX_TEXT = 1_024
const MAX_COMPONENTS = 20

const text = z.string().min(1).max(MAX_TEXT)
const component = jsonObject.describe(
  'A component as the provider has it: HEADER, BODY, FOOTER, BUTTONS, CAROUSEL, …',
)
const components = z.array(component).max(MAX_COMPONENTS)
const parameterFormat = z.enum(['POSITIONAL', 'NAMED']).optional().describe('Whether placeholders have names')

const BODY = {
  ...{ type: 'BODY', text: 'Hi {{1}}, your order {{2}} is on its way.' },
  example: { body_text: [['Ana', '4711']] },
}

export const templateView = z
  .object({
    _id: z.string().describe('The provider’s id'),
    account: z.string(),
    name: z.string(),
    language: z.string(),
    status: z
      .string()
      .describe('In the provider’s words: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`, `DISABLED`, …'),
    category: z.string(),
    quality: z.string().optional(),
    refusedFor: z.string().optional().describe('Why it was refused, in the provider’s words'),
    parameterFormat: z.string().optional(),
    components: z.array(component),
    syncedAt: z.iso.datetime().describe('When the provider was last asked'),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Template', description: 'What a business may write to people at any time' })

/** Fields that rules of roles see. */
export const TEMPLATE_FIELDS: ReadonlySet<string> = new Set([
  ...['account', 'name', 'language', 'status', 'category', 'quality'],
])

export const TEMPLATE_ID = '1689556908129832'
export const templateExample = {
  ...{ _id: TEMPLATE_ID, account: '102290129340398', name: 'order_update', language: 'en_US' },
  ...{ status: 'APPROVED', category: 'UTILITY', quality: 'GREEN', components: [BODY] },
  ...{ syncedAt: '2026-11-02T12:00:00.000Z', updatedAt: '2026-11-02T12:00:00.000Z' },
}

export const newTemplate = z
  .strictObject({
    channel: z.int().nonnegative().describe('The `_id` of a channel of the account'),
    name: text,
    language: text,
    category: text.describe('`MARKETING`, `UTILITY` or `AUTHENTICATION`'),
    parameterFormat,
    components,
  })
  .meta({ id: 'NewTemplate' })
export const newTemplateExample = {
  ...{ channel: 1, name: 'order_update', language: 'en_US', category: 'UTILITY', components: [BODY] },
}

export const changedTemplate = z
  .strictObject({ category: text.optional(), components })
  .meta({ id: 'ChangedTemplate' })
export const changedTemplateExample = { components: [BODY] }

export const previewBody = z
  .looseObject({ variables: z.unknown().optional().describe('Texts by position, or by name') })
  .meta({
    id: 'TemplateArguments',
    description:
      'What a message gives beside template and language: `variables`, `header`, `buttons`, `carousel`, …',
  })

const shownPart = {
  header: z.object({ type: z.string(), text: z.string().optional(), link: z.string().optional() }).optional(),
  body: z.string(),
  buttons: z.array(z.object({ type: z.string(), text: z.string(), value: z.string().optional() })),
}
export const preview = z
  .object({
    ...shownPart,
    footer: z.string().optional(),
    cards: z.array(z.object(shownPart)).optional(),
    fits: z.boolean().describe('Whether a message with these arguments would be sent now'),
    reason: z.string().optional().describe('Why it would not'),
  })
  .meta({ id: 'TemplatePreview', description: 'A template as a person sees it, in the provider’s markup' })

/** A template as callers see it. */
export function viewOf({ id, components: stored, workspace: _w, provider: _p, ...template }: TemplateRecord) {
  return { ...template, _id: id, components: parseJson(stored) }
}
