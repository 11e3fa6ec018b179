import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { buildSimulator } from '@parley/local/simulator/app'
import {
  configOf,
  misbehave,
  registerWebhook,
  setTemplateState,
  simulatedNumber,
  writeAsPerson,
} from '@parley/local/simulator/client'
import { sendJson } from '@parley/local/testing/send-json'
import { eventually, listen, type Parsed } from '@parley/local/testing/service-under-test'
import {
  type Parley,
  type ParleyOptions,
  registerCaller,
  startParley,
} from '@parley/local/testing/start-parley'
import type { Caller, ServiceName } from '@parley/shared/internal-token'
import type { PersonRecord } from '../../src/store/person-record.ts'

/** Milliseconds that the start of the system may take on a busy machine. */
export const START_MS = 180_000

/** On a machine that stalls, a send whose response was lost is made again after a minute. */
const STATE_MS = 180_000

type Response = Awaited<ReturnType<typeof sendJson>>

/** The whole system with the simulator and a workspace, whose campaigns are sent to the simulator. */
export interface CampaignWorld {
  parley: Parley
  caller: Caller
  /** Asks a service as the caller would through the gateway. */
  ask(service: ServiceName, method: string, path: string, body?: object, as?: Caller): Promise<Response>
  /** A channel of its own number and account, which is owned by a portfolio of its own or by one that is named. */
  line(portfolio?: string): Promise<Line>
  /** People who have agreed to marketing, unless said otherwise. */
  people(count: number, more?: (index: number) => Partial<PersonRecord>): Promise<PersonRecord[]>
  /** Drafts a campaign. */
  draft(definition: object): Promise<string>
  /** Takes a campaign through an action; throws unless that is allowed. */
  act(campaign: string, action: string): Promise<Parsed>
  /** Changes what can be changed of a campaign that is not over. */
  change(campaign: string, patch: object): Promise<Parsed>
  read(campaign: string): Promise<Parsed>
  results(campaign: string): Promise<Parsed>
  /** Waits for a campaign to be in a state. */
  until(campaign: string, state: string): Promise<Parsed>
  close(): Promise<void>
}

export interface Line {
  channel: number
  extId: string
  sends(): Promise<{ to: string; template?: string; variables?: string[] }[]>
  misbehave(behaviour: object): Promise<void>
  /** A text, or a message of Meta's. */
  writes(person: PersonRecord, said: string | object): Promise<unknown>
  /** Has the provider say something of a template. */
  template(state: { name: string; status?: string; category?: string }): Promise<void>
  /** A webhook of the provider about the number's account. */
  notice(field: string, value: object): Promise<void>
}

const phoneOf = (person: PersonRecord): string => person.addresses[0]?.slice('phone:'.length) ?? ''

export async function startCampaignWorld(
  options: Pick<ParleyOptions, 'proxies'> = {},
): Promise<CampaignWorld> {
  const simulator = await buildSimulator({})
  const listening = await listen(simulator.app)
  const parley = await startParley({
    services: ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
    ...options,
  })
  const caller = await registerCaller(parley)
  const database = parley.database('campaigns')
  let [channels, phones] = [0, 0]
  const ask: CampaignWorld['ask'] = (service, method, path, body, as = caller) =>
    sendJson(`${parley.services[service].url}${path}`, method, {
      headers: { authorization: parley.authorization('gateway', service, as) },
      ...(body !== undefined && { body }),
    })
  const succeed = async (...asked: Parameters<typeof ask>): Promise<Parsed> => {
    const { status, text, json } = await ask(...asked)
    if (status !== 200) throw new Error(`${asked[1]} ${asked[2]}: ${text}`)
    return json
  }
  const read = (campaign: string) => succeed('campaigns', 'GET', `/rest/campaigns/${campaign}`)
  return {
    ...{ parley, caller, ask, read },
    async line(portfolio) {
      const channel = ++channels
      const extId = `line-${channel}`
      const number = simulatedNumber(listening.url, `${Date.now()}${channel}`)
      const slug = caller.workspace.host.split('.')[0]
      const url = `${parley.services.webhook.url}/api/hooks/whatsapp/${slug}/${extId}`
      const config = { ...configOf(number), businessAccountId: `account-${channel}` }
      await succeed('configuration', 'PUT', `/rest/channels/${channel}`, {
        ...{ name: extId, description: '', extId, hook: 'whatsapp', callback: 'whatsapp', config },
        handlerUrl: 'native:agents/echo',
      })
      await registerWebhook(number, url)
      if (portfolio !== undefined)
        await misbehave({ ...number, phoneNumberId: config.businessAccountId, behaviour: { portfolio } })
      return {
        ...{ channel, extId },
        sends: async () => {
          const query = `phoneNumberId=${number.phoneNumberId}&limit=10000`
          return ((await (await fetch(`${listening.url}/simulator/sends?${query}`)).json()) as Parsed).data
        },
        misbehave: (behaviour) => misbehave({ ...number, behaviour }),
        writes: (person, said) =>
          writeAsPerson(number, {
            ...{ from: phoneOf(person), name: 'Ana' },
            ...(typeof said === 'string' ? { text: said } : { message: said }),
          }),
        template: (state) => setTemplateState(number, state),
        notice: async (field, value) => {
          const payload = JSON.stringify({
            object: 'whatsapp_business_account',
            entry: [
              { id: `account-${channel}`, time: Math.floor(Date.now() / 1_000), changes: [{ field, value }] },
            ],
          })
          const { createHmac } = await import('node:crypto')
          const signature = createHmac('sha256', number.appSecret).update(payload).digest('hex')
          const response = await fetch(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
            body: payload,
          })
          if (!response.ok) throw new Error(await response.text())
        },
      }
    },
    async people(count, more = () => ({})) {
      const now = new Date()
      const made = Array.from(
        { length: count },
        (_, index): PersonRecord => ({
          ...{ _id: randomUUIDv7(), workspace: caller.workspace._id, name: `Ana ${index}` },
          addresses: [`phone:55119${String(++phones).padStart(8, '0')}`],
          ...{ attributes: {}, tags: [], createdAt: now, updatedAt: now, revision: 0 },
          consent: { marketing: { status: 'granted', at: now, source: 'import' } },
          ...more(index),
        }),
      )
      await database.collection<PersonRecord>('people').insertMany(made)
      return made
    },
    async draft(definition) {
      const body = {
        ...{ name: randomUUID(), template: { name: 'welcome_offer', language: 'pt_BR' } },
        variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }],
        ...definition,
      }
      return (await succeed('campaigns', 'POST', '/rest/campaigns', body))._id
    },
    act: (campaign, action) => succeed('campaigns', 'POST', `/rest/campaigns/${campaign}/${action}`),
    change: (campaign, patch) => succeed('campaigns', 'PATCH', `/rest/campaigns/${campaign}`, patch),
    results: (campaign) => succeed('campaigns', 'GET', `/rest/campaigns/${campaign}/results`),
    async until(campaign, state) {
      let found = await read(campaign)
      const isThere = async () => {
        found = await read(campaign)
        return found.state === state
      }
      await eventually(isThere, { timeoutMs: STATE_MS }).catch(async (error: Error) => {
        const { states } = await succeed('campaigns', 'GET', `/rest/campaigns/${campaign}/results`)
        const { state: instead, paused, waiting } = found
        throw new Error(`${error.message}: ${JSON.stringify({ instead, paused, waiting, states })}`)
      })
      return found
    },
    async close() {
      await parley.close()
      await simulator.close()
      await listening.close()
    },
  }
}
