import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { type FieldError, Problem } from '@parley/shared/problem'
import type { Wrong } from '@parley/shared/providers/outbound'
import { providerNamed } from '@parley/shared/providers/registry'
import { accountsOf, definitionOf, templatesOf } from '../../templates/template-store.ts'
import { attributesIn, fillVariables } from '../rules/variables.ts'
import { findChannel } from '../run/campaign-parts.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import type { CampaignRoutesNeeded } from './campaign-access.ts'

const QUERY_MS = 5_000
const MAX_LANGUAGES = 100

/**
 * Throws `validation_failed` for what every message of the campaign would be dead for: arguments that the channel's provider
 * does not take, or, where the template is known, that it has not or lacks.
 */
export async function requireFittingMessage(
  { connection, campaigns }: Pick<CampaignRoutesNeeded, 'connection' | 'campaigns'>,
  { workspace, channel: channelId, definition }: CampaignRecord,
): Promise<void> {
  const channel = await findChannel(campaigns, { workspace, channel: channelId })
  const { outbound, templates } = (channel && providerNamed(channel.callback)) ?? {}
  if (outbound?.objects === undefined) return
  const { template, more } = definition
  const { name, language } = template
  const composed = outbound.objects.compose({
    ...(more as JsonObject | undefined),
    ...{ template: name, language, variables: samplesOf(definition) },
  } as JsonObject)
  if (composed.kind === 'refused') throw refusedBy(composed.errors.map(errorOf))
  const account = await accountsOf(connection).findOne(
    { workspace, channels: channelId },
    { maxTimeMS: QUERY_MS },
  )
  if (account === null || templates === undefined) return
  const known = await templatesOf(connection)
    .find({ workspace, account: account.account, provider: account.provider, name }, { maxTimeMS: QUERY_MS })
    .limit(MAX_LANGUAGES)
    .toArray()
  // One that is not known is tried.
  if (known.length === 0) return
  const fit = templates.fitOf(known.map(definitionOf), composed.object)
  if (fit.kind === 'refused') throw refusedBy([{ path: '/template', code: fit.code, message: fit.reason }])
}

const refusedBy = (errors: FieldError[]): Problem => new Problem('validation_failed', { errors })

/** Returns the error of a field; values that are given beside the variables are below `more`. */
function errorOf({ path, message }: Wrong): FieldError {
  const own = path[0] === 'variables' ? path : ['more', ...path]
  return { path: `/${own.map(pointerSegment).join('/')}`, code: 'template_mismatch', message }
}

/** The variables as they are for somebody who has all attributes. */
function samplesOf({ variables }: CampaignRecord['definition']): string[] | Record<string, string> {
  const names = Object.fromEntries(attributesIn(variables).all.map((name) => [name, name]))
  const filled = fillVariables(variables, { name: 'name', language: 'language', attributes: names })
  return filled.kind === 'filled' ? filled.variables : []
}
