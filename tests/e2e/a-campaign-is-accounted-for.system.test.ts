import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { campaignText } from '@parley/local/demo/campaign/report'
import { runCampaignDemo } from '@parley/local/demo/campaign/run-campaign-demo'
import { killProcess } from '@parley/local/demo/running-system'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type RunningParley, startProcesses } from './running-parley.ts'

const START_MS = 180_000
const RUN_MS = 600_000
const PEOPLE = 300

let parley: RunningParley

beforeAll(async () => {
  parley = await startProcesses()
}, START_MS)
afterAll(() => parley.stop(), START_MS)

test(
  'everybody of a campaign is accounted for, though its template is paused in the middle and people opt out',
  async () => {
    const { gatewayUrl, simulatorUrl } = parley.system
    const said: string[] = []
    const result = await runCampaignDemo({
      ...{ gatewayUrl, simulatorUrl, people: PEOPLE },
      say: (what) => void said.push(what),
    })
    const { account, results, pausedFor } = result
    expect(account).toMatchObject({ doubled: 0, unaccounted: 0, againstConsent: 0, difference: 0 })
    expect(pausedFor).toBe('template_paused')
    expect(results.leftOutBy.map(({ reason }) => reason).toSorted()).toEqual(
      expect.arrayContaining(['no_address', 'no_consent', 'opted_out']),
    )
    expect(results.categories.map(({ category }) => category)).toEqual(['marketing'])
    expect(result.isWhole).toBe(true)
    // Messages of people who opted out once they were in the log are dead for that, and for nothing else.
    expect(
      results.failedBy.filter(({ code }) => code === 'opted_out').map(({ recipients }) => recipients),
    ).toEqual([results.states.dead])
    expect(campaignText(result)).toMatch(/difference +0\n/)
  },
  RUN_MS,
)

test(
  'a campaign whose instance is killed while it starts is sent to everybody, once',
  async () => {
    const count = 60
    await parley.putWhatsappChannel(2, { extId: 'starting', phoneNumberId: '2002' })
    const call = async (method: string, path: string, body?: object): Promise<Parsed> => {
      const { status, json, text } = await parley.call(method, path, { body })
      if (status !== 200) throw new Error(text)
      return json
    }
    const people: string[] = []
    for (let at = 0; at < count; at++) {
      const addresses = [`phone:55119${String(at).padStart(8, '0')}`]
      people.push((await call('POST', '/rest/people', { addresses }))._id)
    }
    const { _id } = await call('POST', '/rest/campaigns', {
      ...{ name: 'Starting', channel: 2, template: { name: 'welcome_offer', language: 'pt_BR' } },
      ...{ variables: [{ text: 'Ana' }, { text: '20%' }], audience: { people }, requiresConsent: false },
    })
    await call('POST', `/rest/campaigns/${_id}/schedule`)
    await killProcess({ victim: 'campaigns', runFile: parley.runFile })
    await eventually(async () => {
      const found = await call('GET', `/rest/campaigns/${_id}`).catch(() => undefined)
      return found?.state === 'finished'
    })
    const sends = await parley.sends('2002')
    expect([sends.length, new Set(sends.map(({ to }) => to)).size]).toEqual([count, count])
    expect(await call('GET', `/rest/campaigns/${_id}/results`)).toMatchObject({
      audience: count,
      difference: 0,
    })
  },
  RUN_MS,
)
