// A million people: how fast a file of them is imported and what others see of that, what counts, pages and segments take,
// how soon a campaign to all of them sends its first message, and what it costs other messages while they are listed.
import { setTimeout as pause } from 'node:timers/promises'
import { type GatewayClient, gatewayClient } from '@parley/local/demo/gateway-client'
import { readRunFile } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectOffers } from '../lab/load/audience.ts'
import { median, report, reportComparison, reportFigure } from '../lab/report/results.ts'
import { startOwnSystem } from '../lab/system/own-system.ts'
import { residentMib } from '../lab/system/processes.ts'
import { register } from '../lab/system/workspace.ts'
import { type MessagePath, reportPath, startMessagePath } from './message-path.ts'

const size = z.object({
  PEOPLE: integer({ min: 1_000, max: 10_000_000 }).default(1_000_000).describe('Rows of the file'),
  ROUNDS: integer({ min: 1, max: 100 }).default(5).describe('How often each count and page is asked for'),
})
const { PEOPLE, ROUNDS } = parseConfig(size, process.env)

const LEAST_PER_SECOND = 10_000
const MOST_MS = 1_000
const START_SECONDS = 5
const MOST_GROWTH = 1.3
const SAMPLE_MS = 200
const CALM_SAMPLES = 50
const LISTED_MS = 1_200_000
const BUDGET = 50
const MOST_PER_SECOND = 1_000

const granted = { consent: 'marketing', is: 'granted' }
const COUNTS: Record<string, object> = {
  everybody: {},
  'a tag': { all: [{ tag: 'vip' }] },
  'a language and consent': { all: [{ language: 'pt' }, granted] },
  'an attribute': { all: [{ attribute: 'city', in: ['Santos', 'Recife'] }] },
  'a range': { all: [{ attribute: 'orders', from: 10, below: 50 }], none: [{ tag: 'vip' }] },
  'any of several': { any: [{ tag: 'vip' }, { language: 'es' }, { lastContact: 'never' }] },
  nobody: { all: [{ tag: 'nobody' }] },
}
const PAGES: Record<string, string> = {
  'the newest': '/rest/people',
  'by a tag': '/rest/people?tag=vip',
  'by the beginning of names': '/rest/people?q=ana%20souza',
  'by the beginning of numbers': '/rest/people?q=55119',
}

const CHUNK_ROWS = 2_000
const CITIES = ['Santos', 'Recife', 'Manaus', 'Curitiba', 'Salvador']
const LANGUAGES = ['pt_BR', 'pt_BR', 'pt_BR', 'es', 'en']
/** The attributes of the rows. */
const ATTRIBUTES = [
  { name: 'city', type: 'text' },
  { name: 'orders', type: 'number' },
]

const registered = z.object({ accessToken: z.string(), workspace: z.object({ host: z.string() }) })

const own = await startOwnSystem({ instances: {}, say: console.error })
try {
  const [owner, other] = [await newWorkspace('owner'), await newWorkspace('other')]
  await owner.client.call('PUT', '/rest/people/attributes', { attributes: ATTRIBUTES })
  await other.client.call('POST', '/rest/people', { addresses: ['phone:5511988887777'], name: 'Ana' })
  const calm = await sampleOther(other.client, { until: () => false, most: CALM_SAMPLES })
  const { perSecond, memory, latencies } = await measureImport(owner.token, other.client)
  reportFigure({
    row: `import of ${PEOPLE} people`,
    ...{ values: [perSecond], of: LEAST_PER_SECOND, unit: '/s', reach: { least: 1 } },
  })
  const early = Math.max(...memory.slice(0, Math.ceil(memory.length / 4)))
  const late = Math.max(...memory.slice(-Math.ceil(memory.length / 4)))
  reportComparison({
    row: 'memory of the campaigns service in the last quarter of the import, and in the first',
    ...{ ours: [late], others: [early], unit: ' MiB', reach: { most: MOST_GROWTH } },
  })
  report({
    row: 'a page of another workspace during the import, median',
    parley: `${median(latencies).toFixed(1)} ms, longest ${Math.max(...latencies).toFixed(0)} ms`,
    against: `before ${median(calm).toFixed(1)} ms, longest ${Math.max(...calm).toFixed(0)} ms`,
    ratio: median(latencies) / median(calm),
  })
  const counts = await timesOf(COUNTS, (filter) =>
    owner.client.call('POST', '/rest/segments/count', { filter }),
  )
  reportSlowest('slowest count', counts)
  reportSlowest('slowest first page', await timesOf(PAGES, (path) => owner.client.get(path)))
  const path = await startMessagePath(own)
  try {
    await measureCampaign(owner.client, { system: own.system, path })
  } finally {
    path.stop()
  }
} finally {
  await own.stop()
}

/** A workspace of its own, and its token. */
async function newWorkspace(name: string) {
  const { gatewayUrl } = own.system
  const person = { email: `${name}@example.com`, password: crypto.randomUUID(), namespace: name }
  const { accessToken: token, workspace } = registered.parse(await register(gatewayUrl, person))
  return { token, client: gatewayClient(gatewayUrl, { token, host: workspace.host }) }
}

/** Imports the file, and looks meanwhile at the memory of the service and at how long another workspace waits. */
async function measureImport(token: string, other: GatewayClient) {
  const began = performance.now()
  let isOver = false
  const memory: number[] = []
  const watching = (async () => {
    while (!isOver) {
      memory.push(residentMib({ pid: readRunFile(own.runFile)?.processes.campaigns?.pid }))
      await pause(SAMPLE_MS)
    }
  })()
  const sampling = sampleOther(other, { until: () => isOver, most: Number.POSITIVE_INFINITY })
  const imported = await fetch(new URL('/rest/people/imports', own.system.gatewayUrl), {
    ...{ method: 'POST', duplex: 'half', body: ReadableStream.from(peopleFile(PEOPLE)) },
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
  } as RequestInit)
  const seconds = (performance.now() - began) / 1_000
  isOver = true
  await watching
  const result = (await imported.json()) as { state?: string; counts?: { created: number } }
  if (result.state !== 'finished' || result.counts?.created !== PEOPLE)
    throw new Error(`The import ended otherwise: ${JSON.stringify(result)}`)
  console.log(`${PEOPLE} people imported in ${seconds.toFixed(1)} s; memory in MiB: ${memory.join(' ')}`)
  return { perSecond: PEOPLE / seconds, memory, latencies: await sampling }
}

/** How long another workspace waits for a page, again and again. */
async function sampleOther(
  client: GatewayClient,
  { until, most }: { until(): boolean; most: number },
): Promise<number[]> {
  const times: number[] = []
  while (times.length < most && !until()) {
    times.push(await timeOf(() => client.get('/rest/people')))
    await pause(SAMPLE_MS / 4)
  }
  return times
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function timesOf<T>(asked: Record<string, T>, ask: (one: T) => Promise<unknown>) {
  const medians: Record<string, number> = {}
  for (const [title, one] of Object.entries(asked)) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) times.push(await timeOf(() => ask(one)))
    medians[title] = median(times)
  }
  return medians
}

function reportSlowest(what: string, times: Record<string, number>): void {
  console.table(
    Object.fromEntries(Object.entries(times).map(([title, ms]) => [title, { ms: Math.round(ms) }])),
  )
  const [title = '', ms = 0] = Object.entries(times).toSorted(([, one], [, next]) => next - one)[0] ?? []
  reportFigure({
    row: `${what} of ${PEOPLE} people: ${title}`,
    ...{ values: [ms], of: MOST_MS, unit: ' ms', reach: { most: 1 } },
  })
}

/**
 * Starts a campaign to everybody, waits for its first message, sends others meanwhile, waits for all to be listed, and
 * counts who is in it.
 */
async function measureCampaign(
  client: GatewayClient,
  { system: { simulatorUrl }, path }: { system: { simulatorUrl: string }; path: MessagePath },
): Promise<void> {
  const number = await connectOffers(client, {
    ...{ simulatorUrl, extId: 'offers', messagesPerSecond: MOST_PER_SECOND },
  })
  const { _id } = z.looseObject({ _id: z.string() }).parse(
    await client.call('POST', '/rest/campaigns', {
      ...{ name: 'Everybody', channel: 1, template: { name: 'welcome_offer', language: 'pt_BR' } },
      ...{ variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }] },
      ...{ audience: { everybody: true }, messagesPerSecond: 5, budget: { messages: BUDGET } },
    }),
  )
  const before = await path.measure('before')
  const began = performance.now()
  await client.call('POST', `/rest/campaigns/${_id}/schedule`)
  const sends = new URL(`/simulator/sends?phoneNumberId=${number.phoneNumberId}&limit=1`, simulatorUrl)
  const isSent = async () =>
    z.object({ data: z.array(z.unknown()) }).parse(await (await fetch(sends)).json()).data.length > 0
  if (!(await waitUntil(isSent, { timeoutMs: 120_000, intervalMs: 20 }))) throw new Error('nothing was sent')
  const first = performance.now() - began
  reportFigure({
    row: `a campaign to ${PEOPLE} people, from its start to its first message`,
    ...{ values: [first / 1_000], of: START_SECONDS, digits: 1, unit: ' s', reach: { most: 1 } },
  })
  const listed = async () => {
    // While a million recipients are written, counting them may take longer than the client waits.
    const results = await client.get(`/rest/campaigns/${_id}/results`).catch(() => undefined)
    return z.looseObject({ audience: z.literal(PEOPLE) }).safeParse(results).success
  }
  const during = await path.measure('during')
  if (await listed()) throw new Error('All were listed before the others were sent: more people are needed')
  reportPath(`the listing of ${PEOPLE} people`, during, before)
  // They are listed as fast as they may be sent, and none is sent beyond the budget.
  await client.call('PATCH', `/rest/campaigns/${_id}`, { messagesPerSecond: MOST_PER_SECOND })
  if (!(await waitUntil(listed, { timeoutMs: LISTED_MS, intervalMs: 2_000 })))
    throw new Error('not all were listed')
  console.log(`All of them were listed ${((performance.now() - began) / 1_000).toFixed(0)} s after the start`)
  const counts = await timesOf(
    {
      'in a campaign': { all: [{ campaign: { id: _id } }] },
      'left out of one': { all: [{ campaign: { id: _id, state: 'left_out' } }, { tag: 'vip' }] },
    },
    (filter) => client.call('POST', '/rest/segments/count', { filter }),
  )
  reportSlowest('slowest count over a campaign', counts)
}

/** A file of so many people as CSV, in chunks: nine of ten have agreed to marketing, every twentieth is a VIP. */
async function* peopleFile(count: number): AsyncGenerator<Buffer> {
  yield Buffer.from('phone,name,language,tags,consent,city,orders\n')
  for (let from = 0; from < count; from += CHUNK_ROWS) {
    const rows = Array.from({ length: Math.min(CHUNK_ROWS, count - from) }, (_, n) => rowOf(from + n))
    yield Buffer.from(rows.join(''))
  }
}

function rowOf(at: number): string {
  const phone = `+5511${String(900_000_000 + at)}`
  const tags = at % 20 === 0 ? 'vip' : ''
  const consent = at % 10 === 0 ? '' : 'granted'
  const [language, city] = [LANGUAGES[at % LANGUAGES.length], CITIES[(at >> 2) % CITIES.length]]
  return `${phone},Ana Souza ${at},${language},${tags},${consent},${city},${at % 100}\n`
}
