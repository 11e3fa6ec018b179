import { randomUUIDv7 } from 'node:crypto'
import type { Caller } from '@parley/shared/internal-token'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import { requireFilter } from '../../segments/find-segment.ts'
import { authorOf } from '../../store/author.ts'
import { EDITABLE } from '../rules/campaign-state.ts'
import type { CampaignDefinition, CampaignRecord } from '../store/campaign-record.ts'
import { addCampaign, removeCampaign, updateCampaign } from '../store/change-campaign.ts'
import {
  type CampaignRoutesNeeded,
  campaignParameter,
  refuseState,
  requireCampaign,
} from './campaign-access.ts'
import { requireMayName } from './campaign-references.ts'
import {
  CAMPAIGN_ID,
  CHANGEABLE,
  campaignBody,
  campaignExample,
  campaignPatch,
  campaignView,
  campaignViewExample,
  definitionErrors,
} from './campaign-schema.ts'
import { viewOf } from './campaign-view.ts'

const MAX_BYTES = 1024 * 1024
const OVER = ['finished', 'cancelled']

const one = { path: '/rest/campaigns/{id}', tag: 'campaigns', parameters: [campaignParameter] } as const
const response = { schema: campaignView, example: campaignViewExample }

type Body = z.output<typeof campaignBody>
type Written = Pick<CampaignRecord, 'name' | 'channel' | 'definition'>

function writtenOf({ name, channel, ...definition }: Body): Written {
  const errors = definitionErrors(definition as CampaignDefinition)
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
  return { name, channel, definition: definition as CampaignDefinition }
}

/** Refuses a filter over what the workspace has not. */
async function requireAudience(
  needed: CampaignRoutesNeeded,
  caller: Caller,
  { definition: { audience } }: CampaignRecord,
): Promise<void> {
  if ('filter' in audience)
    await requireFilter(needed, { caller, filter: audience.filter, path: '/audience' })
}

function requireMayWrite(write: Decision, campaign: CampaignRecord): void {
  if (!allows(write, campaign))
    throw new Problem('forbidden', { detail: 'The role does not allow this content.' })
}

const postCampaign = route({
  method: 'POST',
  path: '/rest/campaigns',
  access: 'write',
  id: 'postCampaign',
  tag: 'campaigns',
  summary: 'Draft a campaign',
  description:
    'Nothing is sent before it is scheduled. What it names (channel, template, segment, import) the caller has to be allowed to read.',
  body: { schema: campaignBody, example: campaignExample, maxBytes: MAX_BYTES },
  response,
  errors: ['reference_forbidden'],
  handle: (needed: CampaignRoutesNeeded) => async (_req, res, asked) => {
    const { authorizer, connection } = needed
    const caller = callerOf(res)
    const write = await authorizer.require(caller, 'campaigns', 'write')
    const now = new Date()
    const campaign: CampaignRecord = {
      _id: randomUUIDv7(),
      workspace: caller.workspace._id,
      ...writtenOf(asked.body()),
      ...{ state: 'draft', revision: 0, createdAt: now, updatedAt: now },
      createdBy: caller.account.username,
    }
    requireMayWrite(write, campaign)
    await requireMayName(needed, { caller, campaign })
    await requireAudience(needed, caller, campaign)
    await addCampaign(connection, campaign, authorOf(caller))
    res.json(viewOf(campaign))
  },
})

const patchCampaign = route({
  ...one,
  method: 'PATCH',
  access: 'write',
  id: 'patchCampaign',
  summary: 'Change a campaign',
  description: `Merges the body into the campaign (RFC 7396). A draft can be changed as a whole, one that is not over in ${CHANGEABLE.map((name) => `\`${name}\``).join(', ')}.`,
  body: {
    schema: campaignPatch,
    example: { name: 'Black Friday, again' },
    types: ['application/json', 'application/merge-patch+json'],
    maxBytes: MAX_BYTES,
  },
  response,
  errors: ['invalid_id', 'not_found', 'campaign_state', 'reference_forbidden'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res, asked) => {
    const caller = callerOf(res)
    const campaign = await requireCampaign(needed, { caller, params: req.params, access: 'write' })
    const patch: Record<string, unknown> = asked.body()
    requireChangeable(campaign, Object.keys(patch))
    const { name, channel, definition } = campaign
    const merged = Object.fromEntries(
      Object.entries({ name, channel, ...definition, ...patch }).filter(
        ([, value]) => value !== null && value !== undefined,
      ),
    )
    const written = writtenOf(parse(campaignBody, merged))
    const next = { ...campaign, ...written }
    requireMayWrite(await needed.authorizer.require(caller, 'campaigns', 'write'), next)
    await requireMayName(needed, { caller, before: campaign, campaign: next })
    await requireAudience(needed, caller, next)
    const found = await updateCampaign(needed.connection, campaign, {
      by: authorOf(caller),
      change: { $set: written },
    })
    if (found === undefined) throw refuseState(campaign, 'somebody has changed it in this moment')
    res.json(viewOf(found))
  },
})

function requireChangeable(campaign: CampaignRecord, changed: readonly string[]): void {
  if (EDITABLE.includes(campaign.state)) return
  if (OVER.includes(campaign.state)) throw refuseState(campaign, 'it is not changed any more')
  const fixed = changed.filter((name) => !CHANGEABLE.some((one) => one === name))
  if (fixed.length > 0) throw refuseState(campaign, `${fixed.join(', ')} can be changed in a draft only`)
}

const deleteCampaign = route({
  ...one,
  method: 'DELETE',
  access: 'write',
  id: 'deleteCampaign',
  summary: 'Delete a campaign',
  description: 'A draft, or one that is over, with its recipients and results. Its messages stay in the log.',
  response: {
    schema: z.object({ _id: z.uuid(), deleted: z.literal(true) }).meta({ id: 'DeletedCampaign' }),
    example: { _id: CAMPAIGN_ID, deleted: true },
  },
  errors: ['invalid_id', 'not_found', 'campaign_state'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const caller = callerOf(res)
    const campaign = await requireCampaign(needed, { caller, params: req.params, access: 'write' })
    const { _id, state } = campaign
    if (state !== 'draft' && !OVER.includes(state)) throw refuseState(campaign, 'cancel it first')
    const { recipients, campaignLeases } = needed.campaigns.collections
    if (!(await removeCampaign(needed.connection, campaign, authorOf(caller))))
      throw refuseState(campaign, 'somebody has changed it in this moment')
    await Promise.all([recipients.deleteMany({ campaign: _id }), campaignLeases.deleteOne({ _id })])
    res.json({ _id, deleted: true })
  },
})

export const writeCampaignRoutes: readonly Route<CampaignRoutesNeeded>[] = [
  postCampaign,
  patchCampaign,
  deleteCampaign,
]
