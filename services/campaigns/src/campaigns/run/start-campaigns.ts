import { randomUUID } from 'node:crypto'
import { every } from '@parley/shared/every'
import { createLeases } from '@parley/shared/lease'
import type { mongo } from 'mongoose'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignRun, startCampaignRun } from './campaign-run.ts'
import type { RunServices } from './campaign-step.ts'

const LOOK_MS = 500
const LEASE_MS = 12_000
const RENEW_MS = 3_000
/** A campaign is taken up so much before it begins. */
const AHEAD_MS = 2_000
/** How many an instance leads at once; those that send come before those that are over. */
const MAX_RUNS = 200
const QUERY_MS = 5_000

/** Leads campaigns: each is one instance's at a time, and another's within 12 s when that is gone. */
export function startCampaigns(services: RunServices & { ready: Promise<void> }): { close(): Promise<void> } {
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
  const look = every({
    pauseMs: LOOK_MS,
    failed,
    run: async (signal) => {
      await services.ready
      const active = await findActive(collections.campaigns)
      for (const campaign of runs.keys()) if (!active.includes(campaign)) await end(campaign)
      for (const campaign of active) {
        if (runs.has(campaign) || runs.size >= MAX_RUNS || signal.aborted) continue
        if (!(await leases.acquire(campaign))) continue
        const isLeader = () => leases.isValid(campaign)
        runs.set(campaign, startCampaignRun(services, { campaignId: campaign, isLeader }))
      }
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
    close: async () => {
      await Promise.all([look.stop(), renew.stop()])
      const led = [...runs.keys()]
      await Promise.all(led.map(end))
      await Promise.all(led.map((campaign) => leases.release(campaign).catch(() => undefined)))
    },
  }
}

/** The ids of campaigns that there is something to do for. */
async function findActive(campaigns: mongo.Collection<CampaignRecord>): Promise<string[]> {
  const find = async (filter: mongo.Filter<CampaignRecord>) => {
    const found = await campaigns
      .find({ active: true, ...filter }, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
      .sort({ beginsAt: 1 })
      .limit(MAX_RUNS)
      .toArray()
    return found.map(({ _id }) => _id)
  }
  const soon = new Date(Date.now() + AHEAD_MS)
  const sending = await find({ state: { $in: ['scheduled', 'running', 'paused'] }, beginsAt: { $lte: soon } })
  const room = MAX_RUNS - sending.length
  const over = room > 0 ? await find({ state: { $in: ['finished', 'cancelled'] } }) : []
  return [...sending, ...over.slice(0, room)]
}
