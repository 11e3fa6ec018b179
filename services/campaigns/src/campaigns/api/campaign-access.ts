import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { Connection, mongo } from 'mongoose'
import { z } from 'zod'
import { visibleImports } from '../../imports/find-import.ts'
import { importsOf } from '../../imports/import-record.ts'
import { findSegment } from '../../segments/find-segment.ts'
import type { SegmentFilter } from '../../segments/segment-filter.ts'
import { stopReason } from '../rules/stop-rules.ts'
import type { RunServices } from '../run/campaign-step.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { requireMayName } from './campaign-references.ts'
import { CAMPAIGN_ID } from './campaign-schema.ts'

const QUERY_MS = 5_000
const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** The dependencies that all routes of campaigns share. */
export interface CampaignRoutesNeeded {
  connection: Connection
  authorizer: Authorizer
  campaigns: RunServices
  /** Says that the state of a campaign has changed here, so that nobody has to look for it. */
  campaignChanged(): void
}

export const campaignParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  description: 'The `_id` of a campaign',
  schema: z.string(),
  required: true,
  example: CAMPAIGN_ID,
}

/** The campaigns of the caller's workspace that a decision lets through. */
export function visibleTo(caller: Caller, decision: Decision): mongo.Filter<CampaignRecord> {
  const workspace = caller.workspace._id
  if (decision.kind === 'none') return { workspace, $nor: [{}] }
  return decision.kind === 'some' ? { workspace, $and: [decision.filter] } : { workspace }
}

/** Throws `invalid_id` for what is not the id of a campaign. */
export function requireCampaignId({ id }: { id: string }): string {
  if (!ID.test(id)) throw new Problem('invalid_id', { detail: 'It is not the id of a campaign.' })
  return id
}

/** The campaign that a path names. Throws `not_found`, and `forbidden` for one that may be read and not written. */
export async function requireCampaign(
  { authorizer, campaigns }: CampaignRoutesNeeded,
  { caller, params, access }: { caller: Caller; params: { id: string }; access: 'read' | 'write' },
): Promise<CampaignRecord> {
  const allowed = await authorizer.require(caller, 'campaigns', access)
  const _id = requireCampaignId(params)
  const read = access === 'read' ? allowed : await authorizer.decide(caller, 'campaigns', 'read')
  const found = await campaigns.collections.campaigns.findOne(
    { _id, ...visibleTo(caller, read) },
    { maxTimeMS: QUERY_MS },
  )
  if (found === null) throw new Problem('not_found')
  if (!allows(allowed, found))
    throw new Problem('forbidden', { detail: 'The role may not write this campaign.' })
  return found
}

/**
 * What sending takes of a caller: to post messages, and to read what the campaign names. Gives the rule on people as JSON where the caller
 * may read only some: then nobody else is of the audience.
 */
export async function requireMaySend(
  needed: CampaignRoutesNeeded,
  { caller, channel, definition }: { caller: Caller } & Pick<CampaignRecord, 'channel' | 'definition'>,
): Promise<Pick<CampaignRecord, 'peopleRule' | 'segmentFilter'>> {
  const { authorizer, campaigns } = needed
  const messages = await authorizer.require(caller, 'messages', 'write')
  if (messages.kind !== 'all')
    throw new Problem('forbidden', { detail: 'A campaign takes a role that posts any message.' })
  const people = await authorizer.require(caller, 'people', 'read')
  const workspace = caller.workspace._id
  await requireMayName(needed, { caller, campaign: { workspace, channel, definition } })
  const found = await campaigns.configuration.get(`/internal/workspaces/${workspace}/channels/${channel}`)
  if (found === undefined)
    throw new Problem('validation_failed', {
      errors: [
        { path: '/channel', code: 'unknown_reference', message: 'is not a channel of this workspace' },
      ],
    })
  if ('import' in definition.audience) await requireImport(needed, { caller, id: definition.audience.import })
  return defined({
    peopleRule: people.kind === 'some' ? JSON.stringify(people.filter) : undefined,
    segmentFilter: await segmentFilterOf(needed, { caller, definition }),
  })
}

/** Refuses an import that is not the workspace's, that the caller may not read, or that is not over. */
async function requireImport(
  { connection, authorizer }: CampaignRoutesNeeded,
  { caller, id }: { caller: Caller; id: string },
): Promise<void> {
  const read = await authorizer.require(caller, 'people', 'read')
  const found = await importsOf(connection).findOne(
    { _id: id, ...visibleImports(caller, read) },
    { projection: { state: 1 }, maxTimeMS: QUERY_MS },
  )
  const refuse = (code: string, message: string) =>
    new Problem('validation_failed', { errors: [{ path: '/audience/import', code, message }] })
  if (found === null) throw refuse('unknown_reference', 'is not an import of this workspace')
  if (found.state === 'running' || found.state === 'open')
    throw refuse('unfinished', 'is not over: some of its people are still to come')
}

async function segmentFilterOf(
  needed: CampaignRoutesNeeded,
  { caller, definition: { audience } }: { caller: Caller } & Pick<CampaignRecord, 'definition'>,
): Promise<SegmentFilter | undefined> {
  if (!('segment' in audience)) return undefined
  const found = await findSegment(needed, { caller, id: audience.segment })
  if (found !== undefined) return found.filter
  const message = 'is not a segment of this workspace'
  throw new Problem('validation_failed', {
    errors: [{ path: '/audience/segment', code: 'unknown_reference', message }],
  })
}

/** Refuses a template that is known not to be sent as it stands; gives what its parameters and its category are, where that is known. */
export async function requireSendable(
  { connection, campaigns }: CampaignRoutesNeeded,
  { workspace, channel, definition }: CampaignRecord,
): Promise<Pick<CampaignRecord, 'shape' | 'categories'>> {
  const { template } = definition
  const known = await campaigns.findTemplate(connection, { workspace, channel, ...template })
  const stop = stopReason({ ...CALM, template: known, shape: undefined, category: undefined })
  if (stop === undefined)
    return defined({ shape: known?.shape, categories: known?.category ? [known.category] : undefined })
  const message = `is not sent as it stands: ${stop}, ${known?.status ?? 'unknown'}`
  throw new Problem('validation_failed', { errors: [{ path: '/template', code: stop, message }] })
}

/** Nothing speaks against sending but what a template is like. */
const CALM = {
  ...{ hasChannel: true, isQualityLow: false, isRestricted: false, causes: [] },
  ...{ refusals: 0, optOuts: 0, limits: { share: 1, of: 1 } },
}

/** Refuses what the state does not allow. */
export function refuseState({ state }: Pick<CampaignRecord, 'state'>, what: string): Problem {
  return new Problem('campaign_state', { detail: `It is ${state}: ${what}.` })
}
