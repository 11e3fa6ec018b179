import { randomUUID } from 'node:crypto'
import { every } from '@parley/shared/every'
import { createLeases } from '@parley/shared/lease'
import type { mongo } from 'mongoose'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignRun, startCampaignRun } from './campaign-run.ts'
import type { RunServices } from './campaign-step.ts'

/** While another instance leads one that sends, or one is about to begin. */
const LOOK_MS = 500
/** Otherwise: what is scheduled here is looked at all the same at once. */
const REST_MS = 4_000
const LEASE_MS = 12_000
const RENEW_MS = 3_000
/** A campaign is taken up so much before it begins. */
const AHEAD_MS = 2_000
/** How many an instance leads at once; those that send come before those that are over. */
const MAX_RUNS = 200
const QUERY_MS = 5_000

/** Leads campaigns: each is one instance's at a time, and another's within 12 s when that is gone. */
export function startCampaigns(services: RunServices & { ready: Promise<void> }): {
  /** The state of one has changed: it is looked at once. */
  changed(): void
  close(): Promise<void>
} {
  const { collections, log } = services
  const owner = randomUUID()
  const leases = createLeases({ collection: () => collections.campaignLeases, owner, leaseMs: LEASE_MS })
  const runs = new Map<string, CampaignRun>()
  const failed = ({ message }: Error) => log.warn({ reason: message }, 'campaigns not looked after')
  const end = async (campaign: string) => {
    const run = runs.get(campaign)
    runs.delete(campaign)
    await run?.stop()
  }
  let lookMs = LOOK_MS
  const look = every({
    pauseMs: () => lookMs,
    failed,
    run: async (signal) => {
      lookMs = LOOK_MS
      await services.ready
      const { sending, over, nextMs } = await findActive(collections.campaigns)
      const active = [...sending, ...over]
      for (const campaign of runs.keys()) if (!active.includes(campaign)) await end(campaign)
      for (const campaign of active) {
        if (runs.has(campaign) || runs.size >= MAX_RUNS || signal.aborted) continue
        if (!(await leases.acquire(campaign))) continue
        const isLeader = () => leases.isValid(campaign)
        runs.set(campaign, startCampaignRun(services, { campaignId: campaign, isLeader }))
      }
      if (sending.every((campaign) => runs.has(campaign))) lookMs = Math.max(LOOK_MS, nextMs)
    },
  })
  const renew = every({
    pauseMs: RENEW_MS,
    failed,
    run: async () => {
      const still = await leases.renew([...runs.keys()])
      for (const campaign of runs.keys()) if (!still.has(campaign)) await end(campaign)
    },
  })
  return {
    changed: look.wake,
    close: async () => {
      await Promise.all([look.stop(), renew.stop()])
      const led = [...runs.keys()]
      await Promise.all(led.map(end))
      await Promise.all(led.map((campaign) => leases.release(campaign).catch(() => undefined)))
    },
  }
}

/**
 * The ids of campaigns that there is something to do for: those that send, or begin soon, and those that are over. `nextMs` is
 * how long it is until the next one has to be taken up, 4 s at most.
 */
async function findActive(
  campaigns: mongo.Collection<CampaignRecord>,
): Promise<{ sending: string[]; over: string[]; nextMs: number }> {
  const find = (filter: mongo.Filter<CampaignRecord>) =>
    campaigns
      .find({ active: true, ...filter }, { projection: { beginsAt: 1 }, maxTimeMS: QUERY_MS })
      .sort({ beginsAt: 1 })
      .limit(MAX_RUNS)
      .toArray()
  const soon = Date.now() + AHEAD_MS
  const beginsAtOf = ({ beginsAt }: Pick<CampaignRecord, 'beginsAt'>) => beginsAt?.getTime() ?? 0
  const states = { $in: ['scheduled', 'running', 'paused'] } as const
  const found = await find({ state: states, beginsAt: { $lte: new Date(soon + REST_MS) } })
  const sending = found.filter((one) => beginsAtOf(one) <= soon)
  const next = found.find((one) => beginsAtOf(one) > soon)
  const room = MAX_RUNS - sending.length
  const over = room > 0 ? await find({ state: { $in: ['finished', 'cancelled'] } }) : []
  return {
    sending: sending.map(({ _id }) => _id),
    over: over.slice(0, room).map(({ _id }) => _id),
    nextMs: next === undefined ? REST_MS : beginsAtOf(next) - soon,
  }
}
