import type { LeftOutReason } from '../../store/recipient-record.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignServices, messageIdOf } from './campaign-parts.ts'

const QUERY_MS = 5_000
const BATCH = 200
const FIRST_CHECK_MS = 3_000

/** Nobody who waits is written to any more. */
export async function leaveOutWaiting(
  { collections }: Pick<CampaignServices, 'collections'>,
  { _id: campaign }: Pick<CampaignRecord, '_id'>,
  reason: LeftOutReason,
  state: 'waiting' | 'claimed' = 'waiting',
): Promise<void> {
  const now = new Date()
  // One that was claimed may have been posted.
  const look = state === 'claimed' ? { checkAt: now, checks: 0 } : {}
  await collections.recipients.updateMany(
    { campaign, state },
    { $set: { state: 'left_out', reason, ...look, updatedAt: now }, $unset: { claim: '', claimedAt: '' } },
  )
}

/**
 * Messages that the provider refused because the template was paused run again once the campaign goes on, under their
 * ids: they reached nobody.
 */
export async function replayPaused(
  { collections, dispatcher }: Pick<CampaignServices, 'collections' | 'dispatcher'>,
  { _id: campaign, workspace }: Pick<CampaignRecord, '_id' | 'workspace'>,
): Promise<void> {
  const paused = await collections.recipients
    .find(
      { campaign, state: 'dead', cause: 'template_paused' },
      { projection: { person: 1 }, maxTimeMS: QUERY_MS },
    )
    .limit(BATCH)
    .toArray()
  if (paused.length === 0) return
  const ids = paused.map(({ person }) => messageIdOf({ workspace, campaign, person }))
  await dispatcher.post(`/internal/workspaces/${workspace}/campaigns/replay`, { ids })
  const now = new Date()
  // Whatever is read before they run again is of the time before.
  const checkAt = new Date(now.getTime() + FIRST_CHECK_MS)
  await collections.recipients.updateMany(
    { _id: { $in: paused.map(({ _id }) => _id) }, state: 'dead' },
    {
      $set: { state: 'posted', claimedAt: now, checkAt, checks: 0, updatedAt: now },
      $unset: { cause: '', code: '', reason: '' },
    },
  )
}
