import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { campaignText } from '@parley/local/demo/campaign/report'
import { runCampaignDemo } from '@parley/local/demo/campaign/run-campaign-demo'
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
    // Who opted out once their message was in the log is dead for that, and for nothing else.
    expect(
      results.failedBy.filter(({ code }) => code === 'opted_out').map(({ recipients }) => recipients),
    ).toEqual([results.states.dead])
    expect(campaignText(result)).toMatch(/difference +0\n/)
  },
  RUN_MS,
)
