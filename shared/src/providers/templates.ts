import type { Purpose } from '../consent.ts'
import type { JsonObject } from '../json-object.ts'
import type { ProviderRequest, ProviderResponse } from './http.ts'
import type { Wrong } from './outbound.ts'
import type { Settings } from './setting.ts'

/** A template in one language, as its provider has it. */
export interface ProviderTemplate {
  /** The provider's id of it. */
  providerId: string
  name: string
  language: string
  /** In the provider's words. */
  status: string
  category: string
  quality?: string | undefined
  /** Why it was refused. */
  refusedFor?: string | undefined
  /** The format of its parameters, with names or positions. */
  parameterFormat?: string | undefined
  components: readonly JsonObject[]
}

/** The part of a template that says what a message of it needs. */
export type TemplateDefinition = Pick<
  ProviderTemplate,
  'name' | 'language' | 'status' | 'category' | 'parameterFormat' | 'components'
>

/** The fit of a message with the known definitions of its template. */
export type TemplateFit =
  /** `purpose` is what a person has to agree to; undefined where its category is not known. */
  | { kind: 'fits'; purpose: Purpose | undefined }
  /** The provider takes it later. */
  | { kind: 'waits'; reason: string }
  /** The provider would refuse it: `code` is stable, `reason` says what is missing. */
  | { kind: 'refused'; code: TemplateRefusalCode; fault: 'caller' | 'channel'; reason: string }

/** Codes of a message that its template does not take. */
type TemplateRefusalCode =
  | 'template_language'
  | 'template_mismatch'
  | 'template_not_approved'
  | 'template_disabled'

/** A template as a person sees it. */
export interface TemplatePreview {
  header?: { type: string; text?: string; link?: string }
  body: string
  footer?: string
  buttons: { type: string; text: string; value?: string }[]
  cards?: Omit<TemplatePreview, 'cards' | 'footer'>[]
}

/** A value that whoever sends a template fills in. */
export interface TemplateField {
  /** Its name among those of the template. */
  key: string
  /** Its name for people. */
  label: string
  type: 'text' | 'url' | 'number' | 'time'
  /** A value that the template was reviewed with. */
  example?: string
}

/** A template as the few parts that most have, for people who write one. */
export interface TemplateParts {
  /** `text` is that of a text. */
  header?: { type: 'text' | 'image' | 'video' | 'document' | 'location'; text: string }
  body: string
  footer: string
  /** `value` is an address or a number. */
  buttons: { type: 'quick_reply' | 'url' | 'phone_number' | 'copy_code'; text: string; value: string }[]
  /** The examples for its review, under the keys of its fields. */
  examples: Readonly<Record<string, string>>
}

/** The provider's response to a change: done, or an error in its own text. */
type TemplateResponse<T> = ({ kind: 'done' } & T) | ProviderRefusal

interface ProviderRefusal {
  kind: 'refused'
  status: number
  /** The provider's text and code, for people. */
  message: string
  code?: number
}

/** A template that is made, or what of one is changed. */
export type TemplateDraft = Pick<ProviderTemplate, 'name' | 'language' | 'category' | 'components'> &
  Pick<ProviderTemplate, 'parameterFormat'>

/** A change of a template that the provider told of. */
export interface TemplateNotice {
  /** Its name; undefined where any may have changed. */
  name: string | undefined
  language: string | undefined
  status?: string
  category?: string
  quality?: string
}

/** A provider's templates: how they are asked for and changed, and what a message of one needs. */
export interface TemplateRules {
  /** The account that has them; channels with one account share them. */
  accountOf(settings: Settings): string | undefined
  list(settings: Settings, page: { name?: string | undefined; after?: string | undefined }): ProviderRequest
  readList(
    response: ProviderResponse,
  ): TemplateResponse<{ templates: ProviderTemplate[]; next: string | undefined }>
  create(settings: Settings, draft: TemplateDraft): ProviderRequest
  edit(settings: Settings, template: { providerId: string; draft: TemplateDraft }): ProviderRequest
  remove(settings: Settings, template: { providerId: string; name: string }): ProviderRequest
  readChange(response: ProviderResponse): TemplateResponse<{ providerId?: string; status?: string }>
  /** Errors of a template that is to be made, by the path of each. */
  errorsOf(draft: TemplateDraft): Wrong[]
  /** Checks if the provider takes a message of a template, given all known languages of its name. */
  fitOf(known: readonly TemplateDefinition[], object: JsonObject): TemplateFit
  /** Returns the parameters of its messages as text: the same for two definitions that take the same. */
  shapeOf(definition: Pick<TemplateDefinition, 'components'>): string
  /** Returns the fields to fill in for a message of it. */
  fieldsOf(definition: Pick<TemplateDefinition, 'components'>): TemplateField[]
  /** Returns the arguments of such a message beside name and language, from the values under the keys of the fields. */
  argumentsOf(
    definition: Pick<TemplateDefinition, 'components'>,
    filled: Readonly<Record<string, string>>,
  ): JsonObject
  /** The components of a template that is written as its parts, and whether its placeholders have names. */
  ofParts(parts: TemplateParts): { components: JsonObject[]; parameterFormat: string }
  /** The parts of a template; undefined where its components say more than parts do. */
  partsOf(components: readonly JsonObject[]): TemplateParts | undefined
  /** The components that a template for codes begins with. */
  codeComponents: readonly JsonObject[]
  /** Which template an object is a message of; undefined where it is none. */
  namedIn(object: JsonObject): Pick<TemplateDefinition, 'name' | 'language'> | undefined
  /** The message of a template as a person sees it; what is not given is as the template has it. */
  preview(definition: TemplateDefinition, object: JsonObject | undefined): TemplatePreview
  /** A notice of a channel that is about templates; undefined for any other. */
  noticeOf(notice: { field: string; value: unknown }): TemplateNotice | undefined
}
