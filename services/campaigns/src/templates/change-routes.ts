import type { OperationParameter } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { providerNamed } from '@parley/shared/providers/registry'
import type { TemplateDraft, TemplateRules } from '@parley/shared/providers/templates'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { type Author, authorOf } from '../store/author.ts'
import { askForChange, type Refusal } from './ask-provider.ts'
import { requireTemplate } from './find-template-record.ts'
import { syncAccount } from './sync-templates.ts'
import { findAccounts } from './template-accounts.ts'
import {
  changedTemplate,
  changedTemplateExample,
  newTemplate,
  newTemplateExample,
  TEMPLATE_ID,
  templateExample,
  templateView,
  viewOf,
} from './template-schema.ts'
import {
  type AccountRecord,
  accountsOf,
  definitionOf,
  type TemplateRecord,
  templatesOf,
} from './template-store.ts'

const MAX_BYTES = 256 * 1024
const QUERY_MS = 5_000

const tag = 'templates'
const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: z.string(),
  example: TEMPLATE_ID,
  description: 'The provider’s id',
}
const response = { schema: templateView, example: templateExample }

const postTemplate = route({
  method: 'POST',
  path: '/rest/templates',
  access: 'write',
  id: 'postTemplate',
  tag,
  summary: 'Make a template',
  description:
    'It is made at the provider, which reviews it: its status says what came of that. Needs the right to write all templates.',
  body: { schema: newTemplate, example: newTemplateExample, maxBytes: MAX_BYTES },
  response,
  errors: ['refused_by_provider'],
  handle: (dependencies: Dependencies) => async (_req, res, asked) => {
    await requireAll(dependencies, res)
    const { channel, ...draft } = asked.body()
    const workspace = callerOf(res).workspace._id
    const account = await accountOf(dependencies, workspace, channel)
    requireValid(rulesOf(account.provider), draft)
    const made = await askForChange(
      dependencies.dispatcher,
      { workspace, channel },
      { kind: 'create', draft },
    )
    if (made.kind !== 'done') throw refusedBy(made)
    await syncAccount(dependencies, account, { name: draft.name, by: authorOf(callerOf(res)) })
    const found = await templatesOf(dependencies.connection).findOne(
      { workspace, account: account.account, name: draft.name, language: draft.language },
      { maxTimeMS: QUERY_MS },
    )
    if (found === null) throw new Problem('unavailable', { detail: 'It is made, and not listed yet.' })
    res.json(viewOf(found))
  },
})

const putTemplate = route({
  method: 'PUT',
  path: '/rest/templates/{id}',
  access: 'write',
  id: 'putTemplate',
  tag,
  summary: 'Change a template, and have it reviewed again',
  parameters: [idParameter],
  body: { schema: changedTemplate, example: changedTemplateExample, maxBytes: MAX_BYTES },
  response,
  errors: ['not_found', 'refused_by_provider'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const record = await requireTemplate(dependencies, res, { id: req.params.id, access: 'write' })
    const { components, category = record.category } = asked.body()
    const { name, language, parameterFormat } = definitionOf(record)
    const draft = { name, language, category, components, ...(parameterFormat && { parameterFormat }) }
    requireValid(rulesOf(record.provider), draft)
    await change(dependencies, record, {
      by: authorOf(callerOf(res)),
      operation: { kind: 'edit', providerId: record.id, draft },
    })
    const { _id } = record
    const found = await templatesOf(dependencies.connection).findOne({ _id }, { maxTimeMS: QUERY_MS })
    res.json(viewOf(found ?? record))
  },
})

const deleteTemplate = route({
  method: 'DELETE',
  path: '/rest/templates/{id}',
  access: 'write',
  id: 'deleteTemplate',
  tag,
  summary: 'Delete a template',
  description: 'At the provider as well.',
  parameters: [idParameter],
  response: {
    schema: z.object({ _id: z.string(), deleted: z.literal(true) }).meta({ id: 'DeletedTemplate' }),
    example: { _id: TEMPLATE_ID, deleted: true },
  },
  errors: ['not_found', 'refused_by_provider'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    const record = await requireTemplate(dependencies, res, { id: req.params.id, access: 'write' })
    const { id: providerId, name } = record
    await change(dependencies, record, {
      by: authorOf(callerOf(res)),
      operation: { kind: 'remove', providerId, name },
    })
    res.json({ _id: providerId, deleted: true })
  },
})

/** Asks the provider for a change, then how the templates of that name are now. */
async function change(
  dependencies: Dependencies,
  record: TemplateRecord,
  { operation, by }: { operation: object; by: Author },
): Promise<void> {
  const { workspace, provider, account, name } = record
  const _id = `${workspace}/${provider}/${account}`
  const found = await accountsOf(dependencies.connection).findOne({ _id }, { maxTimeMS: QUERY_MS })
  if (found === null) throw new Problem('not_found')
  const done = await askForChange(
    dependencies.dispatcher,
    { workspace, channel: found.channels[0] ?? 0 },
    operation,
  )
  if (done.kind !== 'done') throw refusedBy(done)
  await syncAccount(dependencies, found, { name, by })
}

async function requireAll(
  { authorizer }: Pick<Dependencies, 'authorizer'>,
  res: Parameters<typeof callerOf>[0],
): Promise<void> {
  const decision = await authorizer.require(callerOf(res), 'templates', 'write')
  if (decision.kind !== 'all')
    throw new Problem('forbidden', { detail: 'The role may not write all templates.' })
}

async function accountOf(
  dependencies: Dependencies,
  workspace: number,
  channel: number,
): Promise<AccountRecord> {
  const accounts = await findAccounts(dependencies, workspace)
  const found = accounts.find(({ channels }) => channels.includes(channel))
  if (found !== undefined) return found
  const message = 'is not a channel with config.businessAccountId'
  throw new Problem('validation_failed', { errors: [{ path: '/channel', code: 'no_account', message }] })
}

function rulesOf(provider: string): TemplateRules {
  const rules = providerNamed(provider)?.templates
  if (rules === undefined) throw new Problem('not_found')
  return rules
}

function requireValid(rules: TemplateRules, draft: TemplateDraft): void {
  const errors = rules.errorsOf(draft).map(({ path, message }) => ({
    ...{ path: `/${path.join('/')}`, code: 'invalid_template', message },
  }))
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}

function refusedBy({ kind, message, code }: Refusal): Problem {
  if (kind === 'unavailable') return new Problem('upstream_timeout', { detail: message })
  const extra = code === undefined ? {} : { extra: { providerCode: code } }
  return new Problem('refused_by_provider', { detail: message, ...extra })
}

/** The operations that change templates, here and at their provider. */
export const changeRoutes: readonly Route<Dependencies>[] = [postTemplate, putTemplate, deleteTemplate]
