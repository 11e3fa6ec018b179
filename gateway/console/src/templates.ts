import type { JsonObject } from '@parley/shared/json-object'
import type { Speaking } from '@parley/shared/providers/marked-up'
import { providerNamed } from '@parley/shared/providers/registry'
import type { TemplateDefinition, TemplatePreview } from '@parley/shared/providers/templates'
import { listAll } from './api.ts'
import { translated } from './language.ts'
import { useLoad } from './load.ts'
import { may } from './rights.ts'

/** A template in one language, as `/rest/templates` has it. */
export interface Template extends TemplateDefinition {
  _id: string
  account: string
}

const APPROVED = 'APPROVED'

/** The templates of a channel's account, of all where that is not known: none where they can't be read, undefined until they are loaded. */
export function useTemplates({ callback, config }: Speaking, isAsked = true): Template[] | undefined {
  const rules = providerNamed(callback)?.templates
  const texts = Object.entries(config).map(([key, value]) => [key, String(value ?? '')] as const)
  const account = rules?.accountOf(Object.fromEntries(texts))
  const isReadable = isAsked && rules !== undefined && may('read', 'templates')
  const { data, error } = useLoad(`templates ${isReadable} ${account}`, async () =>
    isReadable ? listAll<Template>('/rest/templates', { query: { account } }) : [],
  )
  return data ?? (error && [])
}

/** Those that can be sent, each name once with its languages. */
export function sendable(templates: readonly Template[]): Map<string, Template[]> {
  return Map.groupBy(
    templates.filter(({ status }) => status === APPROVED),
    ({ name }) => name,
  )
}

const baseOf = (language: string): string => language.split(/[_-]/)[0]?.toLowerCase() ?? ''

/** The template in the first of the languages that it is there in, or in one of the same without its region. */
export function inLanguage(all: readonly Template[], preferred: readonly string[]): Template | undefined {
  for (const language of preferred) {
    const code = language.replace('-', '_').toLowerCase()
    const exact = all.find((one) => one.language.toLowerCase() === code)
    const found = exact ?? all.find((one) => baseOf(one.language) === baseOf(language))
    if (found !== undefined) return found
  }
  return all[0]
}

/** The values that a template was given, in the form of a reply. */
export type Given = JsonObject & { template: string; language: string }

/** A template as its person sees it, and why its message would be refused, where it would. */
export interface ShownTemplate {
  preview: TemplatePreview
  refused: string | undefined
}

/** Undefined where the template is not known. */
export function showTemplate(
  known: readonly Template[] | undefined,
  given: Given,
  { callback }: Pick<Speaking, 'callback'>,
): ShownTemplate | undefined {
  const composed = providerNamed(callback)?.outbound.objects?.compose(given)
  if (composed === undefined) return undefined
  if (composed.kind === 'composed') return showObject(known, composed.object, { callback })
  const refused = composed.errors
    .map(({ path, message }) => `${path.join('/')} ${translated(message)}`)
    .join('; ')
  const { template, language } = given
  const nothing = Object.keys(given).length === 2
  const plain = nothing ? undefined : showTemplate(known, { template, language }, { callback })
  return plain && { ...plain, refused }
}

/** The same of an object of the provider's own. */
export function showObject(
  known: readonly Template[] | undefined,
  object: JsonObject,
  { callback }: Pick<Speaking, 'callback'>,
): ShownTemplate | undefined {
  const rules = providerNamed(callback)?.templates
  const named = rules?.namedIn(object)
  const definition = known?.find(({ name, language }) => name === named?.name && language === named.language)
  if (rules === undefined || definition === undefined) return undefined
  const fit = rules.fitOf([definition], object)
  return {
    preview: rules.preview(definition, object),
    refused: fit.kind === 'fits' ? undefined : translated(fit.reason),
  }
}
