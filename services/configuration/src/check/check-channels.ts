import { AGENTS } from '@parley/shared/agents'
import type { JsonObject } from '@parley/shared/json-object'
import { boundSecretOf } from '@parley/shared/providers/bound-secret'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Settings } from '@parley/shared/providers/setting'
import { originsOfCredentials } from '../credentials/credential-origins.ts'
import { isCredentials } from '../credentials/model-origins.ts'
import { findPage } from '../store/find-page.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import { channelSettingFindings, configFindings } from './check-settings.ts'
import type { Batch, Finding } from './finding.ts'

const MAX_NAMED = 5

const named = (origins: readonly string[]): string => origins.slice(0, MAX_NAMED).join(', ')

/**
 * Handlers that nothing can call, channels that lack what their handler or callback needs, and channels that another
 * one with the same external id comes before.
 */
export async function checkChannels(batch: Batch): Promise<Finding[]> {
  const now = new Date()
  const own = batch.documents.flatMap((channel) => [
    ...handlerFindings(channel),
    ...lackFindings(channel),
    ...endingFindings(channel, now),
    ...channelSettingFindings(channel),
  ])
  const shadowed = await shadowedBy(batch, ({ hook }) => ({ 'doc.hook': hook }))
  return [...own, ...checkTokens(batch), ...shadowed]
}

const NATIVE = 'native:agents/'
/** The built-in agents, and whether each needs an assistant to speak for. */
const KNOWN_AGENTS = new Map<string, boolean>(
  Object.entries(AGENTS).map(([type, { assistant }]) => [type, assistant]),
)

function handlerFindings({ _id, handlerUrl }: ResourceDocument): Finding[] {
  const at = (code: Finding['code'], message: string) => [
    finding('channels', _id, code, '/handlerUrl', message),
  ]
  const url = String(handlerUrl)
  if (/^https?:/.test(url)) return []
  if (!url.startsWith(NATIVE) || url === NATIVE)
    return at('bad_handler', 'a handler is native:agents/<type> or an http(s) URL')
  const isKnown = KNOWN_AGENTS.has(url.slice(NATIVE.length))
  return isKnown ? [] : at('unknown_agent', `the built-in agents are ${[...KNOWN_AGENTS.keys()].join(', ')}`)
}

function lackFindings({ _id, callback, handlerUrl, config }: ResourceDocument): Finding[] {
  const settings = (config ?? {}) as Record<string, unknown>
  const agent = String(handlerUrl).startsWith(NATIVE) ? String(handlerUrl).slice(NATIVE.length) : undefined
  const isAssistant = agent !== undefined && KNOWN_AGENTS.get(agent) === true
  const needs = [
    ...neededToSend(callback).map((key) => ({ key, by: `the callback ${callback}` })),
    ...(isAssistant ? [{ key: 'assistantId', by: `the agent ${agent}` }] : []),
  ]
  return needs
    .filter(({ key }) => settings[key] === undefined || settings[key] === null || settings[key] === '')
    .map(({ key, by }) => finding('channels', _id, 'incomplete_channel', `/config/${key}`, `${by} needs it`))
}

/** Returns findings about things that, by its provider's account, will end as they are configured. */
function endingFindings({ _id, hook, callback, config }: ResourceDocument, now: Date): Finding[] {
  const providers = new Set([callback, hook].flatMap((name) => providerNamed(name) ?? []))
  const texts = Object.entries((config ?? {}) as JsonObject).filter(([, value]) => typeof value === 'string')
  const settings: Settings = Object.fromEntries(texts as [string, string][])
  const warnings = [...providers].flatMap((provider) => provider.warnings?.(settings, now) ?? [])
  return warnings.map(({ key, message }) =>
    finding('channels', _id, 'ending_soon', `/config/${key}`, message),
  )
}

/** Returns the settings that a channel's provider needs to send, as keys of its `config`. */
function neededToSend(callback: unknown): string[] {
  const { settings = [] } = providerNamed(callback) ?? {}
  return settings.flatMap(({ key, neededTo, isOptional }) =>
    neededTo === 'send' && !isOptional ? [key] : [],
  )
}

/** Active tasks that another active one of the same thread comes before. */
export function checkTasks(batch: Batch): Promise<Finding[]> {
  const documents = batch.documents.filter(({ status, extId }) => status === 'active' && extId)
  return shadowedBy({ ...batch, documents }, () => ({ 'doc.status': 'active' }))
}

/** Of the documents with the same `extId` that are alike, the one with the lowest id comes first, as far as the caller may read them. */
async function shadowedBy(
  batch: Batch,
  alike: (doc: Batch['documents'][number]) => Record<string, unknown>,
): Promise<Finding[]> {
  const { database, workspace, definition, visible } = batch
  const first = new Map<string, Promise<number | undefined>>()
  const firstLike = async (extId: string, condition: Record<string, unknown>) => {
    const page = await findPage(database, definition, {
      workspace,
      filters: [['extId', extId]],
      sort: { field: '_id', descending: false },
      limit: 1,
      visible: { $and: [condition, visible] },
    })
    return page.documents[0]?.doc._id
  }
  const findings = batch.documents.map(async (doc) => {
    const extId = String(doc.extId)
    const condition = alike(doc)
    const group = JSON.stringify([extId, condition])
    const known = first.get(group) ?? firstLike(extId, condition)
    first.set(group, known)
    const before = await known
    if (before === undefined || before === doc._id) return []
    const message = `${definition.name}/${before} has the same extId and comes first`
    return [finding(definition.name, doc._id, 'shadowed', '/extId', message)]
  })
  return (await Promise.all(findings)).flat()
}

function finding(
  resource: Finding['resource'],
  _id: number,
  code: Finding['code'],
  path: string,
  message: string,
): Finding {
  return { code, resource, _id, path, message }
}

/** Channels whose secret stays behind, because its address leads elsewhere than it did when the secret was stored. */
function checkTokens({ documents }: Pick<Batch, 'documents'>): Finding[] {
  return documents.flatMap((channel) => {
    const secret = boundSecretOf(channel)
    return secret === undefined
      ? []
      : withheldFinding(channel, 'channels', `/config/${secret.key}`, undefined)
  })
}

/** Settings that nobody reads, and credentials that are refused, or that stay behind, because an address that uses them leads elsewhere than it did when they were stored. */
export async function checkConfigs(batch: Batch): Promise<Finding[]> {
  const findings = batch.documents.flatMap(configFindings)
  for (const config of batch.documents) {
    findings.push(...refusedFinding(config))
    if (config.origins === undefined || !isCredentials(config.name)) continue
    const { _id, name, owner, ownerType } = config
    const credentials = { _id, name: String(name), owner, ownerType }
    const now = await originsOfCredentials(batch, batch.workspace, credentials)
    const others = now?.filter((origin) => !(config.origins as string[]).includes(origin))
    if (others !== undefined && others.length > 0)
      findings.push(...withheldFinding(config, 'configs', '/value', others))
  }
  return findings
}

/** Credentials for which the authorization server of their action gives no access token. */
function refusedFinding({ _id, refused }: ResourceDocument): Finding[] {
  const { reason } = (refused ?? {}) as { reason?: string }
  if (reason === undefined) return []
  const message = `${reason} Store credentials that it takes.`
  return [{ code: 'credentials_refused', resource: 'configs', _id, path: '/value', message }]
}

function withheldFinding(
  { _id, origins }: ResourceDocument,
  resource: Finding['resource'],
  path: string,
  others: readonly string[] | undefined,
): Finding[] {
  if (origins === undefined) return []
  const known = named(origins as string[]) || 'no address'
  const to = others === undefined ? 'its present apiUrl' : named(others)
  const message = `was stored for ${known}, so it is not sent to ${to}; store it again if it is to go there`
  return [{ code: 'credentials_withheld', resource, _id, path, message }]
}
