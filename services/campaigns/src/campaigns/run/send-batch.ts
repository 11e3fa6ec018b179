import { randomUUID } from 'node:crypto'
import { postedMessage } from '@parley/shared/message'
import type { mongo } from 'mongoose'
import { findByIds } from '../../store/people-collection.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import { type LeftOutReason, type RecipientRecord, recipientId } from '../../store/recipient-record.ts'
import { afterQuietHours, isTimeZone } from '../rules/due-time.ts'
import { ineligible } from '../rules/eligibility.ts'
import { fillVariables } from '../rules/variables.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import type { CampaignFacts } from './campaign-facts.ts'
import { type CampaignChannel, type CampaignServices, hasAddress, messageTo } from './campaign-parts.ts'
import { overCap } from './frequency-cap.ts'

/** As many as the webhook takes at once. */
export const MAX_BATCH = 200
const QUERY_MS = 5_000
/** Somebody else may be about to write to the same person: it is decided once that is known. */
const UNDECIDED_MS = 2_000

/** The recipients that are due, the earliest first. */
export function findDue(
  { collections }: Pick<CampaignServices, 'collections'>,
  campaign: string,
  { now, limit }: { now: number; limit: number },
): Promise<RecipientRecord[]> {
  return collections.recipients
    .find({ campaign, state: 'waiting', due: { $lte: new Date(now) } }, { maxTimeMS: QUERY_MS })
    .sort({ due: 1, _id: 1 })
    .limit(Math.min(limit, MAX_BATCH))
    .toArray()
}

/** Those that were claimed and of which it is not known whether they were posted. */
export function findClaimed(
  { collections }: Pick<CampaignServices, 'collections'>,
  campaign: string,
): Promise<RecipientRecord[]> {
  return collections.recipients
    .find({ campaign, state: 'claimed' }, { maxTimeMS: QUERY_MS })
    .sort({ due: 1, _id: 1 })
    .limit(MAX_BATCH)
    .toArray()
}

/** Claims recipients for this instance: whoever has claimed one alone decides what becomes of it. Returns those that it got. */
export async function claim(
  { collections }: Pick<CampaignServices, 'collections'>,
  due: readonly RecipientRecord[],
  now: number,
): Promise<RecipientRecord[]> {
  const ids = due.map(({ _id }) => _id)
  const token = randomUUID()
  const claimedAt = new Date(now)
  const { modifiedCount } = await collections.recipients.updateMany(
    { _id: { $in: ids }, state: 'waiting' },
    { $set: { state: 'claimed', claim: token, claimedAt, updatedAt: claimedAt } },
  )
  if (modifiedCount === ids.length) return due.map((one) => ({ ...one, state: 'claimed', claimedAt }))
  return collections.recipients.find({ _id: { $in: ids }, claim: token }, { maxTimeMS: QUERY_MS }).toArray()
}

/** The decision about one claimed recipient. */
type Decision =
  | { kind: 'post'; message: object }
  | { kind: 'left_out'; reason: LeftOutReason }
  | { kind: 'later'; due: number }

/** Recipients that are claimed, and what decides about them. */
interface ClaimedBatch {
  claimed: readonly RecipientRecord[]
  facts: Pick<CampaignFacts, 'purpose'>
  channel: CampaignChannel
  now: number
  /** True where they may have been posted already: whoever is left out is looked for all the same. */
  mayBePosted?: boolean
}

/**
 * Decides anew about claimed recipients, by who the people are now, and posts to those who are still to be written to.
 * Returns how many were posted. Rejects with `unavailable`: then they stay claimed, and are posted again under the same ids.
 */
export async function postClaimed(
  services: CampaignServices,
  campaign: CampaignRecord,
  batch: ClaimedBatch,
): Promise<number> {
  const { collections, webhook } = services
  const { claimed, channel, mayBePosted = false } = batch
  const decisions = await decide(services, campaign, batch)
  const messages = claimed.flatMap(({ _id, person }) => {
    const decision = decisions.get(_id)
    return decision?.kind === 'post' ? [{ recipient: person, message: decision.message }] : []
  })
  if (messages.length > 0)
    await webhook.post(`/internal/workspaces/${campaign.workspace}/campaigns/messages`, {
      ...{ campaign: campaign._id, channelId: channel._id, messages },
    })
  const at = new Date()
  await collections.recipients.bulkWrite(
    claimed.map(({ _id, claimedAt = at }) => ({
      updateOne: {
        filter: { _id, state: 'claimed' },
        update: updateOf(decisions.get(_id), { at, claimedAt, mayBePosted }),
      },
    })),
    { ordered: false },
  )
  return messages.length
}

function updateOf(
  decision: Decision | undefined,
  { at, claimedAt, mayBePosted }: { at: Date; claimedAt: Date; mayBePosted: boolean },
): mongo.UpdateFilter<RecipientRecord> {
  const unclaimed = { claim: '', claimedAt: '' } as const
  if (decision?.kind === 'post')
    return {
      $set: { state: 'posted', postedAt: claimedAt, checkAt: at, checks: 0, updatedAt: at },
      $unset: { claim: '' },
    }
  if (decision?.kind === 'later')
    return { $set: { state: 'waiting', due: new Date(decision.due), updatedAt: at }, $unset: unclaimed }
  const reason = decision?.reason ?? 'erased'
  const look = mayBePosted ? { checkAt: at, checks: 0 } : {}
  return { $set: { state: 'left_out', reason, ...look, updatedAt: at }, $unset: unclaimed }
}

async function decide(
  services: CampaignServices,
  campaign: CampaignRecord,
  batch: ClaimedBatch,
): Promise<Map<string, Decision>> {
  const { definition, workspace } = campaign
  const { claimed, facts, channel, now } = batch
  const ids = claimed.map(({ person }) => person)
  const people = await findByIds(services.connection, [workspace], ids)
  const byId = new Map(people.map((one) => [one._id, one]))
  const joinedInto = new Map(people.flatMap((one) => (one.joined ?? []).map((id) => [id, one] as const)))
  const listed = await listedAmong(services, campaign._id, [...joinedInto.values()])
  const capped = await overCap(services, campaign, { claimed, now })
  const rules = {
    ...{ _id: campaign._id, purpose: facts.purpose },
    ...definition,
    hasAddress: (one: object) => hasAddress(channel, one as PersonRecord),
  }
  const decideOne = ({ _id, person: id }: RecipientRecord): Decision => {
    const other = joinedInto.get(id)
    if (other !== undefined && listed.has(other._id)) return { kind: 'left_out', reason: 'joined' }
    const person = byId.get(id) ?? other
    if (person === undefined) return { kind: 'left_out', reason: 'erased' }
    // Drawn by the id that they were listed by.
    const reason = ineligible({ ...person, _id: id }, rules)
    if (reason !== undefined) return { kind: 'left_out', reason }
    const { schedule } = definition
    const own = person.timeZone
    const zone = own !== undefined && isTimeZone(own) ? own : schedule.timeZone
    const due = afterQuietHours(now, zone, schedule.quietHours)
    if (due > now) return { kind: 'later', due }
    const cap = capped.get(_id)
    if (cap === 'undecided') return { kind: 'later', due: now + UNDECIDED_MS * (1 + Math.random()) }
    if (cap === 'over') return { kind: 'left_out', reason: 'frequency_cap' }
    const filled = fillVariables(definition.variables, person)
    if (filled.kind === 'missing') return { kind: 'left_out', reason: 'missing_variable' }
    const { variables } = filled
    const message = messageTo(campaign, { channel, person, recipient: id, variables })
    return postedMessage.safeParse(message).success
      ? { kind: 'post', message }
      : { kind: 'left_out', reason: 'invalid' }
  }
  return new Map(claimed.map((one) => [one._id, decideOne(one)]))
}

/** Those of the people who are recipients themselves. */
async function listedAmong(
  { collections }: Pick<CampaignServices, 'collections'>,
  campaign: string,
  people: readonly PersonRecord[],
): Promise<Set<string>> {
  if (people.length === 0) return new Set()
  const ids = people.map(({ _id }) => recipientId(campaign, _id))
  const found = await collections.recipients
    .find({ _id: { $in: ids } }, { projection: { person: 1 }, maxTimeMS: QUERY_MS })
    .toArray()
  return new Set(found.map(({ person }) => person))
}
