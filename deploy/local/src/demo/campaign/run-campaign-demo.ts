import { z } from 'zod'
import {
  configOf,
  misbehave,
  registerWebhook,
  SIMULATED,
  type SimulatedNumber,
  SOME_NEVER_ARRIVE,
  setTemplateState,
  simulatedNumber,
  writeAsPerson,
} from '../../simulator/client.ts'
import { waitUntil } from '../../wait-until.ts'
import { type GatewayClient, registerWorkspace } from '../gateway-client.ts'
import { accountOf, type CampaignAccount, type CampaignResults, campaignResults, isWhole } from './account.ts'
import { addPeople, type PlannedPerson, planPeople } from './audience.ts'
import { createLedger, type Ledger } from './ledger.ts'

const LINE = 'offers-line'
const LANGUAGE = 'pt_BR'
/** Messages a second that a number may send; campaigns take four fifths of them. */
const PER_SECOND = 80
const STEP_MS = 180_000
const CHECK_MS = 200
const PAUSED_AT = 0.3
const OPT_OUT_WORD = 'parar'
/** Below the share at which a campaign stops by itself. */
const OPT_OUTS_AFTER = 6
const OPT_OUTS_BEFORE = 40
const STOP_AT = { share: 0.1, of: 500 }

const campaignState = z.looseObject({
  _id: z.string(),
  state: z.string(),
  paused: z.looseObject({ reason: z.string() }).optional(),
})
const template = z.looseObject({ _id: z.string(), status: z.string() })
const person = z.looseObject({ consent: z.looseObject({ marketing: z.looseObject({ status: z.string() }) }) })

export interface CampaignDemoResult {
  people: number
  results: CampaignResults
  account: CampaignAccount
  /** Why the campaign stopped by itself. */
  pausedFor: string | undefined
  /** How many messages had been taken by then. */
  pausedAfter: number
  isWhole: boolean
}

/**
 * Sends a campaign to people with and without consent from a workspace of its own. In the middle the provider pauses its
 * template; people opt out meanwhile, and it goes on once the template is approved again.
 */
export async function runCampaignDemo(options: {
  gatewayUrl: string
  simulatorUrl: string
  people: number
  say(what: string): void
}): Promise<CampaignDemoResult> {
  const { simulatorUrl, gatewayUrl, say } = options
  const run = Date.now().toString(36)
  const number = simulatedNumber(simulatorUrl, String(Date.now()))
  const gateway = await registerWorkspace(gatewayUrl, run)
  await connectNumber(gateway, { number, run })
  await misbehave({ ...number, behaviour: SOME_NEVER_ARRIVE })
  const name = `summer_offer_${run}`
  await approveTemplate(gateway, { number, name })
  const people = planPeople(options.people)
  let added = 0
  const onAdded = () => {
    if (++added % 500 === 0) say(`  ${added} people are in`)
  }
  await addPeople(gateway, { people, onAdded })
  const ledger = createLedger(number)
  const campaign = await startCampaign(gateway, name)
  say('  the campaign runs')
  const paused = await pauseInTheMiddle(gateway, { number, name, campaign, ledger, people })
  say(`  stopped by itself: ${paused.reason}, after ${paused.after} messages`)
  const optedOut = await optOut(gateway, { number, people, ledger })
  say(`  ${optedOut.length} people have opted out meanwhile`)
  await approve(gateway, { number, name })
  await gateway.call('POST', `/rest/campaigns/${campaign}/resume`)
  say('  the template is approved again, and the campaign goes on')
  const results = await finished(gateway, campaign)
  await ledger.read()
  const unwritten = people.filter((one) => one.unwritten !== undefined).map(({ phone }) => phone)
  const account = accountOf(results, {
    people: people.length,
    sends: ledger.sends,
    refused: new Set([...unwritten, ...optedOut]),
  })
  return {
    ...{ people: people.length, results, account, pausedFor: paused.reason, pausedAfter: paused.after },
    isWhole: isWhole(account, PER_SECOND) && results.toCome === 0 && paused.reason === 'template_paused',
  }
}

async function connectNumber(
  gateway: GatewayClient,
  { number, run }: { number: SimulatedNumber; run: string },
): Promise<void> {
  await gateway.putChannel({
    ...{ name: 'Offers', description: 'Sends offers', extId: LINE, handlerUrl: 'native:agents/echo' },
    ...{ hook: SIMULATED.name, callback: SIMULATED.name },
    config: { ...configOf(number), businessAccountId: `account-${run}` },
  })
  await registerWebhook(number, gateway.providerUrl(LINE))
}

interface Named {
  number: SimulatedNumber
  name: string
}

/** Makes the template, which the provider approves after a look. */
async function approveTemplate(gateway: GatewayClient, { number, name }: Named): Promise<void> {
  await gateway.call('POST', '/rest/templates', {
    ...{ channel: 1, name, language: LANGUAGE, category: 'MARKETING' },
    components: [
      {
        ...{ type: 'BODY', text: 'Oi {{1}}, só hoje {{2}} de desconto.' },
        example: { body_text: [['Ana', '20%']] },
      },
    ],
  })
  await approve(gateway, { number, name })
}

/** The provider approves the template, and says so by its webhook. */
async function approve(gateway: GatewayClient, { number, name }: Named): Promise<void> {
  await setTemplateState(number, { name, status: 'APPROVED' })
  await until('the template is approved', async () => {
    const { data } = z
      .looseObject({ data: z.array(template) })
      .parse(await gateway.get(`/rest/templates?name=${name}`))
    return data[0]?.status === 'APPROVED'
  })
}

async function startCampaign(gateway: GatewayClient, name: string): Promise<string> {
  const { _id } = campaignState.parse(
    await gateway.call('POST', '/rest/campaigns', {
      ...{ name: 'Summer', channel: 1, template: { name, language: LANGUAGE }, stopAt: STOP_AT },
      ...{ variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }] },
      audience: { everybody: true },
    }),
  )
  await gateway.call('POST', `/rest/campaigns/${_id}/schedule`)
  return _id
}

const stateOf = async (gateway: GatewayClient, campaign: string) =>
  campaignState.parse(await gateway.get(`/rest/campaigns/${campaign}`))

async function pauseInTheMiddle(
  gateway: GatewayClient,
  {
    number,
    name,
    campaign,
    ledger,
    people,
  }: Named & { campaign: string; ledger: Ledger; people: readonly PlannedPerson[] },
): Promise<{ reason: string | undefined; after: number }> {
  await until('a third is sent', async () => {
    await ledger.read()
    return ledger.sends.length >= people.length * PAUSED_AT
  })
  await setTemplateState(number, { name, status: 'PAUSED', reason: 'LOW_QUALITY' })
  let reason: string | undefined
  await until('the campaign stops by itself', async () => {
    const { state, paused } = await stateOf(gateway, campaign)
    reason = paused?.reason
    return state === 'paused'
  })
  await ledger.read()
  return { reason, after: ledger.sends.length }
}

/** People write that they want no more: some who got the message, and some who did not yet; the numbers of the latter. */
async function optOut(
  gateway: GatewayClient,
  {
    number,
    people,
    ledger,
  }: { number: SimulatedNumber; people: readonly PlannedPerson[]; ledger: Pick<Ledger, 'sends'> },
): Promise<string[]> {
  const got = new Set(ledger.sends.map(({ to }) => to))
  const agreed = people.filter(({ unwritten }) => unwritten === undefined)
  const before = agreed.filter(({ phone }) => !got.has(phone)).slice(0, OPT_OUTS_BEFORE)
  const after = agreed.filter(({ phone }) => got.has(phone)).slice(0, OPT_OUTS_AFTER)
  for (const { phone, name = '' } of [...after, ...before])
    await writeAsPerson(number, { from: phone, name, text: OPT_OUT_WORD })
  for (const { phone } of [...after, ...before])
    await until(`${phone} has opted out`, async () => {
      const { consent } = person.parse(await gateway.get(`/rest/people/phone:${phone}`))
      return consent.marketing.status === 'withdrawn'
    })
  return before.map(({ phone }) => phone)
}

/** Returns the results once nothing more is expected, or after three minutes without that. */
async function finished(gateway: GatewayClient, campaign: string): Promise<CampaignResults> {
  const read = async () => campaignResults.parse(await gateway.get(`/rest/campaigns/${campaign}/results`))
  let [results, standing] = [await read(), await stateOf(gateway, campaign)]
  await waitUntil(
    async () => {
      standing = await stateOf(gateway, campaign)
      return standing.state !== 'running'
    },
    { timeoutMs: STEP_MS, intervalMs: CHECK_MS },
  )
  results = await read()
  if (standing.state !== 'finished')
    throw new Error(`The campaign is not over: ${JSON.stringify({ standing, states: results.states })}`)
  const isSettled = async () => {
    results = await read()
    const { sent = 0, delivered = 0 } = results.states
    return results.toCome + sent + delivered === 0
  }
  await waitUntil(isSettled, { timeoutMs: STEP_MS, intervalMs: CHECK_MS })
  return results
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  if (!(await waitUntil(check, { timeoutMs: STEP_MS, intervalMs: CHECK_MS })))
    throw new Error(`It took more than ${STEP_MS / 1_000} s until ${what}`)
}
