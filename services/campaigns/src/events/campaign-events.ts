import type { CampaignEvent } from '@parley/shared/campaign-events'
import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import type { Connection } from 'mongoose'
import { viewOf as campaignView } from '../campaigns/api/campaign-view.ts'
import { campaignCollectionsOf } from '../campaigns/store/campaign-collections.ts'
import type { CampaignRecord } from '../campaigns/store/campaign-record.ts'
import type { HistoryRecord } from '../history/write-history.ts'
import { viewOf as personView } from '../people/view.ts'
import type { ConsentEntry } from '../store/consent-history.ts'
import { findByIds } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { viewOf as templateView } from '../templates/template-schema.ts'
import { type TemplateRecord, templateKey, templatesOf } from '../templates/template-store.ts'

const QUERY_MS = 5_000

/** A write that may be an event: a version of a document, or a change of consent. */
export type Written = { kind: 'version'; entry: HistoryRecord } | { kind: 'consent'; entry: ConsentEntry }

/** The present state of the documents that events are about, as events show it. */
interface Shown {
  campaigns: ReadonlyMap<string, CampaignRecord>
  templates: ReadonlyMap<string, TemplateRecord>
  /** By their ids, and by those of whoever was joined to them. */
  people: ReadonlyMap<string, PersonRecord>
}

/** The events of what was written, in order. Nothing is said of somebody who was erased since. */
export async function campaignEvents(
  connection: Connection,
  written: readonly Written[],
): Promise<CampaignEvent[]> {
  const shown = await read(connection, written)
  return written.flatMap((one) => {
    if (one.kind === 'consent') return consentEvent(one.entry, shown) ?? []
    const { resource } = one.entry
    if (resource === 'campaigns') return stateEvent(one.entry, shown) ?? []
    return resource === 'templates' ? (statusEvent(one.entry, shown) ?? []) : []
  })
}

async function read(connection: Connection, written: readonly Written[]): Promise<Shown> {
  const versions = written.flatMap((one) => (one.kind === 'version' ? one.entry : []))
  const consents = written.flatMap((one) => (one.kind === 'consent' ? one.entry : []))
  const campaignIds = versions.filter(({ resource }) => resource === 'campaigns').map(({ id }) => id)
  const templateIds = versions
    .filter(({ resource }) => resource === 'templates')
    .map(({ workspace, id }) => templateKey(workspace, id))
  const personIds = consents.map(({ person }) => person)
  const workspaces = [...new Set(consents.map(({ workspace }) => workspace))]
  const options = { maxTimeMS: QUERY_MS }
  const [campaigns, templates, people] = await Promise.all([
    campaignCollectionsOf(connection)
      .campaigns.find({ _id: { $in: campaignIds } }, options)
      .toArray(),
    templatesOf(connection)
      .find({ _id: { $in: templateIds } }, options)
      .toArray(),
    findByIds(connection, workspaces, personIds),
  ])
  return {
    campaigns: new Map(campaigns.map((one) => [one._id, one])),
    templates: new Map(templates.map((one) => [one._id, one])),
    people: new Map(
      people.flatMap((one) => [one._id, ...(one.joined ?? [])].map((id) => [id, one] as const)),
    ),
  }
}

function stateEvent(
  { _id, workspace, id, at, by, changes }: HistoryRecord,
  { campaigns }: Shown,
): CampaignEvent | undefined {
  const state = changes.find(({ path }) => path === '/state')
  if (state === undefined) return undefined
  const campaign = campaigns.get(id)
  const reason = changes.find(({ path }) => path === '/paused')?.after as { reason?: string } | undefined
  return {
    ...{ workspace, type: 'campaign.state_changed', record: `campaigns/${id}`, key: _id },
    at: at.toISOString(),
    data: asJson({
      ...{ _id: id, state: state.after ?? null, before: state.before ?? null },
      ...defined({ reason: reason?.reason, channel: campaign?.channel }),
      by,
      campaign: campaign === undefined ? null : campaignView(campaign),
    }),
  }
}

function statusEvent(
  { _id, workspace, id, operation, at, by, changes }: HistoryRecord,
  { templates }: Shown,
): CampaignEvent | undefined {
  const status = changes.find(({ path }) => path === '/status')
  if (status === undefined || operation !== 'updated') return undefined
  const template = templates.get(templateKey(workspace, id))
  return {
    ...{ workspace, type: 'template.status_changed', record: `templates/${id}`, key: _id },
    at: at.toISOString(),
    data: asJson({
      ...{ _id: id, status: status.after ?? null, before: status.before ?? null, by },
      template: template === undefined ? null : templateView(template),
    }),
  }
}

function consentEvent(
  { _id, workspace, person: id, purpose, status, at, source, text, by }: ConsentEntry,
  { people }: Shown,
): CampaignEvent | undefined {
  const person = people.get(id)
  if (person === undefined || person.workspace !== workspace) return undefined
  return {
    ...{ workspace, type: 'person.consent_changed', record: `people/${id}`, key: _id },
    ...{ at: at.toISOString(), addresses: person.addresses },
    data: asJson({
      ...{ _id: person._id, purpose, status, source },
      ...defined({ text, by }),
      person: personView(person),
    }),
  }
}

const asJson = (data: object): JsonObject => parseJson(JSON.stringify(data)) as JsonObject
