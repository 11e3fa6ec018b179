import { defined } from '../../defined.ts'
import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderRequest, ProviderResponse } from '../http.ts'
import { own, textAt } from '../own.ts'
import type { Settings } from '../setting.ts'
import type { ProviderTemplate, TemplateNotice, TemplateRules } from '../templates.ts'
import { addressOf, get } from './api.ts'
import { errorTextOf } from './outcome.ts'
import { objectsAt } from './template-definition.ts'

const PAGE = 50
const FIELDS = [
  ...['id', 'name', 'language', 'status', 'category', 'components', 'parameter_format'],
  ...['quality_score', 'rejected_reason'],
].join(',')
const MAX_TEXT = 512
/** More than that in one page, and a template of more than so many characters of JSON, are left out: Meta has no such. */
const MAX_TEMPLATES = 1_000
const MAX_CHARACTERS = 64 * 1024

type TemplateApi = Pick<
  TemplateRules,
  'list' | 'readList' | 'create' | 'edit' | 'remove' | 'readChange' | 'noticeOf'
>

/** The Cloud API's templates of a business account. */
export const templateApi: TemplateApi = {
  list(settings, { name, after }) {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE), ...defined({ name, after }) })
    return get(settings, `${pathOf(settings)}?${query}`)
  },
  readList(response) {
    const body = jsonOrUndefined(response.body)
    const data = own(body, 'data')
    if (response.status !== 200 || !Array.isArray(data)) return refusalIn(response)
    const hasMore = textAt(body, 'paging', 'next') !== undefined
    const next = hasMore ? textAt(body, 'paging', 'cursors', 'after') : undefined
    return { kind: 'done', templates: data.slice(0, MAX_TEMPLATES).flatMap(templateIn), next }
  },
  create: (settings, draft) =>
    send(settings, pathOf(settings), {
      ...{ name: draft.name, language: draft.language, category: draft.category },
      ...defined({ parameter_format: draft.parameterFormat }),
      components: draft.components,
    }),
  edit: (settings, { providerId, draft: { category, components } }) =>
    send(settings, encodeURIComponent(providerId), { category, components }),
  remove(settings, { providerId, name }) {
    const query = new URLSearchParams({ hsm_id: providerId, name })
    return { ...get(settings, `${pathOf(settings)}?${query}`), method: 'DELETE' }
  },
  readChange(response) {
    const body = jsonOrUndefined(response.body)
    if (response.status !== 200 || own(body, 'error') !== undefined) return refusalIn(response)
    return { kind: 'done', ...defined({ providerId: textIn(body, 'id'), status: textAt(body, 'status') }) }
  },
  noticeOf,
}

const pathOf = ({ businessAccountId = '' }: Settings): string =>
  `${encodeURIComponent(businessAccountId)}/message_templates`

function send(settings: Settings, path: string, body: object): ProviderRequest {
  return {
    method: 'POST',
    url: addressOf(settings, path),
    headers: { authorization: `Bearer ${settings.accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

/** The text that Meta has for people comes first. */
function refusalIn(response: ProviderResponse): ReturnType<TemplateApi['readChange']> & { kind: 'refused' } {
  const error = own(jsonOrUndefined(response.body), 'error')
  const forPeople = [textAt(error, 'error_user_title'), textAt(error, 'error_user_msg')]
    .filter((text) => text !== undefined)
    .join(': ')
  const message = forPeople || errorTextOf(response) || `The provider answered ${response.status}.`
  const code = own(error, 'code')
  return {
    ...{ kind: 'refused', status: response.status, message: message.slice(0, MAX_TEXT) },
    ...(typeof code === 'number' && { code }),
  }
}

function templateIn(raw: unknown): ProviderTemplate[] {
  const [providerId, name, language] = [textIn(raw, 'id'), textAt(raw, 'name'), textAt(raw, 'language')]
  if (providerId === undefined || name === undefined || language === undefined) return []
  if (JSON.stringify(raw).length > MAX_CHARACTERS) return []
  const reason = textAt(raw, 'rejected_reason')
  return [
    {
      ...{ providerId, name, language },
      status: textAt(raw, 'status') ?? 'UNKNOWN',
      category: textAt(raw, 'category') ?? 'UNKNOWN',
      components: objectsAt(raw, 'components'),
      ...defined({
        quality: textAt(raw, 'quality_score', 'score'),
        refusedFor: reason === 'NONE' ? undefined : reason,
        parameterFormat: textAt(raw, 'parameter_format'),
      }),
    },
  ]
}

/** An id, which webhooks have as a number. */
function textIn(value: unknown, key: string): string | undefined {
  const found = own(value, key)
  return typeof found === 'number' ? String(found) : textAt(value, key)
}

/** Fields of the webhook that are about a template. */
const NOTICES = [
  'message_template_status_update',
  'message_template_quality_update',
  'message_template_components_update',
  'template_category_update',
  'template_correct_category_detection',
]

/** Events that are statuses; others are about something else, such as a template that may not be edited. */
const STATUSES = new Set([
  ...['APPROVED', 'PENDING', 'REJECTED', 'PAUSED', 'DISABLED', 'IN_APPEAL', 'DELETED', 'PENDING_DELETION'],
])

function noticeOf({ field, value }: { field: string; value: unknown }): TemplateNotice | undefined {
  if (!NOTICES.includes(field)) return undefined
  const event = textAt(value, 'event')
  const status = event === 'REINSTATED' ? 'APPROVED' : event
  return {
    name: textAt(value, 'message_template_name'),
    language: textAt(value, 'message_template_language'),
    ...defined({
      status: status !== undefined && STATUSES.has(status) ? status : undefined,
      category: textAt(value, 'new_category'),
      quality: textAt(value, 'new_quality_score'),
    }),
  }
}
