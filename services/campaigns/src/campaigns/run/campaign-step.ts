import type { Log } from '@parley/shared/log'
import type { mongo } from 'mongoose'
import { RUNTIME } from '../../store/author.ts'
import type { RecipientRecord } from '../../store/recipient-record.ts'
import type { Times } from '../../times.ts'
import type { CampaignRecord, CampaignWait } from '../store/campaign-record.ts'
import { changeState } from '../store/change-campaign.ts'
import { type CampaignFacts, type FindTemplate, readFacts } from './campaign-facts.ts'
import type { CampaignServices } from './campaign-parts.ts'
import { returnPeople } from './people-limit.ts'
import { claim, findClaimed, findDue, postClaimed } from './send-batch.ts'
import { allowance, reserve, type SendRate } from './send-rate.ts'
import { leaveOutWaiting, replayPaused } from './wind-down.ts'

/** The dependencies of running one campaign. */
export interface RunServices extends CampaignServices {
  findTemplate: FindTemplate
  times: Times
  log: Log
}

/** Nothing is sent by facts that are older: what stops it might not be known. */
const FACTS_FOR_MS = 5_000
const COUNT_MS = 5_000
const WATCHED_MS = 3 * 24 * 60 * 60_000

/** The data that a run knows of its campaign. */
export interface Known extends SendRate {
  campaign: CampaignRecord | undefined
  facts: CampaignFacts | undefined
  factsAt: number
  /** Since when what happened counts in them, in milliseconds since the epoch. */
  factsSince: number | undefined
  /** Fewer were due than might have been sent. */
  isShort: boolean
}

interface Stepping {
  known: Known
  isLeader(): boolean
}

/** The next thing to do for a campaign, by the state that it is in. */
export async function step(
  services: RunServices,
  campaign: CampaignRecord,
  stepping: Stepping,
): Promise<void> {
  const { collections } = services
  const { known } = stepping
  const now = Date.now()
  if (campaign.state === 'scheduled') return begin(services, campaign, known, now)
  if (campaign.state === 'running' || campaign.state === 'paused') {
    const { endsAt } = campaign.definition.schedule
    if (endsAt !== undefined && Date.parse(endsAt) <= now) {
      await leaveOutWaiting(services, campaign, campaign.waiting?.for === 'budget' ? 'budget' : 'ended')
      await finish(services, campaign)
      return
    }
  }
  if (campaign.state === 'running') return run(services, campaign, stepping, now)
  if (campaign.state === 'cancelled' || campaign.state === 'finished') {
    await leaveOutWaiting(services, campaign, campaign.state === 'cancelled' ? 'cancelled' : 'ended')
    await settleClaimed(services, campaign, known)
    const endedAt = campaign.endedAt?.getTime() ?? campaign.updatedAt.getTime()
    if (now - endedAt > WATCHED_MS)
      await collections.campaigns.updateOne({ _id: campaign._id }, { $unset: { active: '' } })
  }
}

async function begin(
  services: RunServices,
  campaign: CampaignRecord,
  known: Known,
  now: number,
): Promise<void> {
  const at = new Date(now)
  if ((campaign.beginsAt?.getTime() ?? 0) > now || known.facts === undefined) return
  const { template } = known.facts
  const shape = campaign.shape ?? template?.shape
  const categories = campaign.categories ?? (template?.category && [template.category])
  await changeState(services.connection, campaign, {
    ...{ action: 'begin', by: RUNTIME },
    set: { startedAt: at, since: at, ...(shape && { shape }), ...(categories && { categories }) },
    unset: ['waiting'],
  })
}

async function run(
  services: RunServices,
  campaign: CampaignRecord,
  { known, isLeader }: Stepping,
  now: number,
): Promise<void> {
  const { collections } = services
  const { facts } = known
  const isFresh = performance.now() - known.factsAt < FACTS_FOR_MS
  if (facts === undefined || !isFresh) return waitFor(services, campaign, { for: 'configuration' })
  // The reason that it stopped for before it was resumed is over: the facts are read anew in a moment.
  if (known.factsSince !== campaign.since?.getTime()) return
  if (facts.stop !== undefined) {
    await pauseByItself(services, campaign, facts.stop)
    known.facts = undefined
    return
  }
  const { channel } = facts
  if (channel === undefined) return
  const unposted = await findClaimed(services, campaign._id)
  if (unposted.length > 0) {
    if (isLeader())
      await postClaimed(services, campaign, { claimed: unposted, facts, channel, now, mayBePosted: true })
    return
  }
  await replayPaused(services, campaign)
  const allowed = await allowance(services, campaign, known, facts)
  const due = allowed.count === 0 ? [] : await findDue(services, campaign._id, { now, limit: allowed.count })
  known.isShort = due.length < allowed.count
  if (due.length === 0) {
    // Where nobody waits, what is used up keeps nothing from being over.
    const isWaiting =
      allowed.wait !== undefined && (await findFirst(services, campaign, { state: 'waiting' }))
    if (allowed.wait === undefined || !isWaiting) return atRest(services, campaign)
    return waitFor(services, campaign, allowed.wait)
  }
  const reserved = await reserve(services, campaign, { facts, count: due.length, now })
  if (reserved.count === 0)
    return waitFor(services, campaign, {
      for: 'people_limit',
      ...(reserved.freeAt !== undefined && { until: new Date(reserved.freeAt) }),
    })
  if (!isLeader()) return
  const claimed = await claim(services, due.slice(0, reserved.count), now)
  known.bucket?.take(claimed.length)
  const posted = await postClaimed(services, campaign, { claimed, facts, channel, now })
  if (reserved.key !== undefined && posted < reserved.count)
    await returnPeople(collections, { account: reserved.key, count: reserved.count - posted, now })
  await waitFor(services, campaign, undefined)
}

/** Pauses a campaign for a reason of its own; undefined where somebody has changed it meanwhile. */
export function pauseByItself(
  { connection, log }: Pick<RunServices, 'connection' | 'log'>,
  campaign: CampaignRecord,
  reason: NonNullable<CampaignRecord['paused']>['reason'],
): Promise<CampaignRecord | undefined> {
  log.warn({ campaign: campaign._id, reason }, 'campaign paused by itself')
  return changeState(connection, campaign, {
    ...{ action: 'pause', by: RUNTIME },
    set: { paused: { reason, at: new Date() } },
    unset: ['waiting'],
  })
}

/** Nothing is due: it is over once everybody is listed, nobody waits and nothing is under way; else the next is waited for. */
async function atRest(services: RunServices, campaign: CampaignRecord): Promise<void> {
  if (campaign.listed?.isDone !== true) return
  const next = await findFirst(services, campaign, { state: { $in: ['waiting', 'claimed'] } })
  if (next !== null) {
    if (next.due.getTime() > Date.now()) await waitFor(services, campaign, { for: 'time', until: next.due })
    return
  }
  // A message in flight may yet be refused because the template was paused, and runs again then: checked afterwards.
  if ((await findFirst(services, campaign, { state: 'posted' })) !== null)
    return waitFor(services, campaign, { for: 'in_flight' })
  if ((await findFirst(services, campaign, { state: 'dead', cause: 'template_paused' })) === null)
    await finish(services, campaign)
}

/** The recipient of those that is due first; null for none. */
function findFirst(
  { collections }: RunServices,
  { _id: campaign }: CampaignRecord,
  filter: mongo.Filter<RecipientRecord>,
): Promise<Pick<RecipientRecord, 'due'> | null> {
  return collections.recipients.findOne(
    { campaign, ...filter },
    { projection: { due: 1 }, sort: { due: 1 }, maxTimeMS: COUNT_MS },
  )
}

async function finish({ connection }: RunServices, campaign: CampaignRecord): Promise<void> {
  await changeState(connection, campaign, {
    ...{ action: 'finish', by: RUNTIME },
    set: { endedAt: new Date() },
    unset: ['waiting', 'paused'],
  })
}

async function settleClaimed(services: RunServices, campaign: CampaignRecord, known: Known): Promise<void> {
  const claimed = await findClaimed(services, campaign._id)
  if (claimed.length === 0) return
  const facts = known.facts ?? (await readFacts(services, campaign))
  if (facts.channel === undefined) return leaveOutWaiting(services, campaign, 'cancelled', 'claimed')
  const { channel } = facts
  await postClaimed(services, campaign, { claimed, facts, channel, now: Date.now(), mayBePosted: true })
}

/** Says what is waited for, where that is something else than before. */
async function waitFor(
  { collections }: RunServices,
  { _id, waiting }: CampaignRecord,
  wait: CampaignWait | undefined,
): Promise<void> {
  const isSame = waiting?.for === wait?.for && waiting?.until?.getTime() === wait?.until?.getTime()
  if (isSame) return
  await collections.campaigns.updateOne(
    { _id },
    wait === undefined ? { $unset: { waiting: '' } } : { $set: { waiting: wait } },
  )
}
