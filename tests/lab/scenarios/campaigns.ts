// Sends a campaign while instances of every service are killed, and counts by the simulator's ledger what was sent.
//   npm run test:campaigns               100,000 people
//   PEOPLE=2000 npm run test:campaigns
import { accountOf, type CampaignResults, campaignResults } from '@parley/local/demo/campaign/account'
import { createLedger } from '@parley/local/demo/campaign/ledger'
import { type GatewayClient, registerWorkspace } from '@parley/local/demo/gateway-client'
import { readTroubles } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { addAudience, connectOffers, startOptOuts } from '../load/audience.ts'
import { figureRow } from '../report/table.ts'
import { type Killed, killCounts, killInTurn } from '../strike/kill-in-turn.ts'
import { type OwnSystem, startOwnSystem } from '../system/own-system.ts'
import { type CampaignRunResult, verdictOf } from '../verdict/campaign.ts'

const size = z.object({
  PEOPLE: integer({ min: 500, max: 1_000_000 }).default(100_000).describe('How many people it is for'),
  RATE: z.enum(['20', '80', '1000']).default('80').describe('What the number may send a second'),
  KILL_EVERY_MS: integer({ min: 500, max: 600_000 }).default(4_000).describe('The pause between two kills'),
})
const sizes = parseConfig(size, process.env)
const perSecond = Number(sizes.RATE)

const KILLS = {
  instances: /^(campaigns|dispatcher|webhook|configuration|identity|gateway)(-\d+)?$/,
  servers: [
    { victim: 'redis', at: 0.2 },
    { victim: 'rabbitmq', at: 0.4 },
    { victim: 'mongodb', at: 0.6 },
  ],
  until: 1,
  // One that is not back yet is passed over.
  waits: false,
}
const LINE = 'offers-line'
const OVER_RATE = '130429'
const INSTANCES = { campaigns: 2, dispatcher: 2, webhook: 2, configuration: 2, identity: 2 }
/** One in fifty opts out, which is more than a campaign goes on at: that is not what is looked at here. */
const STOP_AT = { share: 1, of: 500 }
const OPT_OUT_SHARE = 0.02
const CHECK_MS = 1_000
const NOTHING_NEW_MS = 300_000
const say = (line: string) => console.error(line)

const created = z.looseObject({ _id: z.string() })

const own = await startOwnSystem({
  instances: INSTANCES,
  memory: 'small',
  // A service that is killed again and again is started again soon.
  lastRestartDelayMs: 500,
  say,
})
try {
  const { result, kills } = await run(own)
  console.log(tableOf(result, kills))
  if (!result.passed) process.exitCode = 1
} finally {
  await own.stop()
}

async function run({ system, runFile, servers }: OwnSystem) {
  const { gatewayUrl, simulatorUrl } = system
  const gateway = await registerWorkspace(gatewayUrl, Date.now().toString(36))
  const number = await connectOffers(gateway, { simulatorUrl, extId: LINE, messagesPerSecond: perSecond })
  const people = await addAudience(servers.mongo.url, sizes.PEOPLE)
  const expected = people.filter(({ hasConsent }) => hasConsent).length
  say(`${people.length} people are in, ${expected} of them with consent`)
  const campaign = await startCampaign(gateway)
  const ledger = createLedger(number)
  const stopping = new AbortController()
  const optOuts = startOptOuts(gateway, {
    ...{ people, most: Math.ceil(expected * OPT_OUT_SHARE) },
    everyMs: (expected / perSecond / Math.ceil(expected * OPT_OUT_SHARE)) * 1_000,
  })
  const killing = killInTurn({
    ...{ ...KILLS, runFile, everyMs: sizes.KILL_EVERY_MS, signal: stopping.signal, say },
    progress: () => ledger.sends.length / expected,
  })
  await untilOver(gateway, { campaign, ledger })
  stopping.abort()
  const kills = await killing
  const { results, ends } = await settled(gateway, campaign)
  await ledger.read()
  const { stored, unanswered } = await optOuts.stop()
  const { refused } = await readTroubles(number)
  const account = accountOf(results, {
    ...{ people: people.length, sends: ledger.sends },
    refused: new Set(people.filter(({ hasConsent }) => !hasConsent).map(({ phone }) => phone)),
  })
  const result = verdictOf({
    ...{ people, sends: ledger.sends, optOuts: stored, unanswered, account },
    ...{ toCome: results.toCome, state: ends },
    overRate: refused[OVER_RATE] ?? 0,
  })
  return { result, kills }
}

async function startCampaign(gateway: GatewayClient): Promise<string> {
  const { _id } = created.parse(
    await gateway.call('POST', '/rest/campaigns', {
      ...{ name: 'Summer', channel: 1, template: { name: 'welcome_offer', language: 'pt_BR' } },
      ...{ variables: [{ text: 'Ana' }, { text: '20%' }], audience: { everybody: true }, stopAt: STOP_AT },
    }),
  )
  await gateway.call('POST', `/rest/campaigns/${_id}/schedule`)
  return _id
}

/** Until the campaign is over, or nothing new has arrived for five minutes. */
async function untilOver(
  gateway: GatewayClient,
  { campaign, ledger }: { campaign: string; ledger: ReturnType<typeof createLedger> },
): Promise<void> {
  let [count, since] = [0, performance.now()]
  const isOver = async () => {
    await ledger.read()
    if (ledger.sends.length > count) [count, since] = [ledger.sends.length, performance.now()]
    if (performance.now() - since > NOTHING_NEW_MS) return true
    return !['scheduled', 'running'].includes((await read(gateway, campaign)).state)
  }
  await waitUntil(isOver, { timeoutMs: Number.MAX_SAFE_INTEGER, intervalMs: CHECK_MS })
}

async function read(gateway: GatewayClient, campaign: string) {
  return z
    .looseObject({ state: z.string(), paused: z.looseObject({ reason: z.string() }).optional() })
    .parse(await gateway.get(`/rest/campaigns/${campaign}`))
}

/** The results once every message is at rest, or after five minutes as they are, and where the campaign stands. */
async function settled(
  gateway: GatewayClient,
  campaign: string,
): Promise<{ results: CampaignResults; ends: string }> {
  let results: CampaignResults | undefined
  const isSettled = async () => {
    results = campaignResults.parse(await gateway.get(`/rest/campaigns/${campaign}/results`))
    return results.toCome === 0
  }
  await waitUntil(isSettled, { timeoutMs: NOTHING_NEW_MS, intervalMs: CHECK_MS })
  if (results === undefined) throw new Error('The results of the campaign could not be read')
  const found = await read(gateway, campaign)
  return { results, ends: [found.state, found.paused?.reason].filter(Boolean).join(', ') }
}

function tableOf(result: CampaignRunResult, kills: readonly Killed[]): string {
  const { people, account, missed, afterOptOut, optOuts, overRate, toCome, state: ends, passed } = result
  const rows: [string, number | string][] = [
    ['people', people],
    ['messages that the simulator took', account.sends],
    ['  doubled', account.doubled],
    ['  missed', missed],
    ['  to people who had not agreed', account.againstConsent],
    ['  to people who had opted out before', afterOptOut],
    ['  that have no state', account.unaccounted],
    ['  in the busiest second', account.busiestSecond],
    ['refused for the rate of the number', overRate],
    ['opted out meanwhile', optOuts],
    ['still to come', toCome],
    ['difference', account.difference],
    ['the campaign is', ends],
    [
      'killed',
      killCounts(kills)
        .map(([name, times]) => `${name} ${times}`)
        .join(', '),
    ],
    ['passed', passed ? 'yes' : 'no'],
  ]
  return rows.map(([name, figure]) => figureRow(name, figure.toLocaleString('en-US'))).join('\n')
}
