import fc from 'fast-check'
import { attackByPayloads, type PayloadsRun } from './attack-by-payloads.ts'
import { attackByResponses, type ForeignResponsesRun } from './attack-by-responses.ts'
import { connectionCases } from './families/connections.ts'
import { headerCases } from './families/headers.ts'
import { jsonCases } from './families/json-texts.ts'
import { bodyCases, operationCases } from './families/operations.ts'
import { pathCases } from './families/paths.ts'
import { queryCases } from './families/queries.ts'
import { specCases } from './families/specs.ts'
import { tokenCases } from './families/tokens.ts'
import {
  bytesOf,
  type FuzzCase,
  filled,
  KINDS,
  type Kind,
  readRegressions,
  saveRegression,
} from './fuzz-case.ts'
import { attack, ORACLES, type Oracle, signatureOf } from './judge.ts'
import { countRoundTrips, type RoundTrips } from './round-trips.ts'
import { type FuzzTarget, type FuzzWorld, prepareWorld } from './world.ts'

const BATCH = 60
const PER_WORLD = 4_000
const MAX_SHRINKING = 120
const ROUND_TRIP_SHARE = 0.03
/** So many answers of foreign servers for each request. */
const RESPONSES_SHARE = 0.01
const MAX_RESPONSES = 300
/** So many payloads of a provider for each request. */
const PAYLOADS_SHARE = 0.1

interface FuzzOptions {
  target: FuzzTarget
  requests: number
  seed: number
  /** How many are under way at a time. */
  concurrency: number
  /** True if new cases are saved as regressions. */
  saveRegressions: boolean
  say(line: string): void
}

export interface FuzzRun {
  tally: Tally
  roundTrips: RoundTrips
  regressions: number
  /** The answers of models and MCP servers, and their effects on others. */
  responses: ForeignResponsesRun
  /** The payloads sent as if from a provider. */
  payloads: PayloadsRun
  /** True if nothing reached the workspace that nobody works in. */
  isWitnessUntouched: boolean
}

interface Fuzzing extends FuzzOptions {
  tally: Tally
  /** How many of each family are sent or in a batch. */
  planned: Record<Kind, number>
  known: Set<string>
}

/** Replays what was found before, then sends new cases until there were so many, and strings there and back. */
export async function fuzz(options: FuzzOptions): Promise<FuzzRun> {
  const { requests, say } = options
  const fuzzing: Fuzzing = { ...options, tally: createTally(), planned: zeros(KINDS), known: new Set() }
  const { tally } = fuzzing
  const roundTrips: RoundTrips = { stored: 0, changed: [] }
  const regressions = readRegressions()
  let isWitnessUntouched = true
  for (let round = 0; round === 0 || tally.total() < requests; round++) {
    const world = await prepareWorld(options.target)
    if (round === 0) for (const { case: one } of regressions) await replay(one, world, fuzzing)
    const goal = Math.min(requests, tally.total() + PER_WORLD)
    await sendUntil(goal, world, fuzzing)
    const count = Math.ceil(Math.min(requests, PER_WORLD) * ROUND_TRIP_SHARE)
    const { stored, changed } = await countRoundTrips(world.own, { count, seed: options.seed + round })
    roundTrips.stored += stored
    roundTrips.changed.push(...changed)
    isWitnessUntouched &&= await world.isWitnessUntouched()
    say(`${tally.total()} of ${requests} sent, ${tally.findings.length} found`)
  }
  const count = Math.min(MAX_RESPONSES, Math.ceil(requests * RESPONSES_SHARE))
  const responses = await attackByResponses(options.target.url, { count, seed: options.seed })
  say(`${responses.sent} answers of foreign servers`)
  const payloads = await attackByPayloads(options.target.url, {
    count: Math.ceil(requests * PAYLOADS_SHARE),
    seed: options.seed,
  })
  say(`${payloads.sent} payloads of a provider`)
  return { tally, roundTrips, regressions: regressions.length, responses, payloads, isWitnessUntouched }
}

/** Keeps so many batches under way, each of the family that is furthest behind its share. */
async function sendUntil(goal: number, world: FuzzWorld, fuzzing: Fuzzing): Promise<void> {
  const { tally, planned, seed, concurrency } = fuzzing
  const progress = (kind: Kind) => planned[kind] / families[kind].share
  const worker = async () => {
    while (tally.total() < goal) {
      const kind = KINDS.toSorted((a, b) => progress(a) - progress(b))[0] ?? 'operation'
      planned[kind] += BATCH
      const nth = Object.values(planned).reduce((sum, each) => sum + each, 0)
      await batch(families[kind].cases, { seed: seed + nth, goal, world, fuzzing })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Sends some cases of a family; the first one with a fault of a new kind is made small and ends the batch. */
async function batch(
  cases: fc.Arbitrary<FuzzCase>,
  { seed, goal, world, fuzzing }: { seed: number; goal: number; world: FuzzWorld; fuzzing: Fuzzing },
): Promise<void> {
  let found: string | undefined
  let shrinking = 0
  const property = fc.asyncProperty(cases, async (one) => {
    const isEnough = found === undefined ? fuzzing.tally.total() >= goal : ++shrinking > MAX_SHRINKING
    if (isEnough) return
    const signatures = await send(one, world, fuzzing)
    found ??= signatures.find((each) => !fuzzing.known.has(each))
    if (found !== undefined && signatures.includes(found)) throw new Error(found)
  })
  const { counterexample } = await fc.check(property, { seed, numRuns: BATCH })
  const one = counterexample?.[0]
  if (found === undefined || one === undefined || fuzzing.known.has(found)) return
  fuzzing.known.add(found)
  report({ one, signature: found, world, fuzzing })
}

async function send(one: FuzzCase, world: FuzzWorld, { tally }: Fuzzing): Promise<string[]> {
  const { statuses, failures } = await attack(one, world)
  const oracles = failures.map(({ oracle }) => oracle)
  tally.count(one.kind, statuses, oracles)
  return failures.map((failure) => signatureOf(one, failure))
}

async function replay(one: FuzzCase, world: FuzzWorld, fuzzing: Fuzzing): Promise<void> {
  for (const signature of await send(one, world, fuzzing)) report({ one, signature, world, fuzzing })
}

function report(options: { one: FuzzCase; signature: string; world: FuzzWorld; fuzzing: Fuzzing }): void {
  const { one, signature, world, fuzzing } = options
  const finding = { signature, reproduction: reproduction(one, world) }
  fuzzing.tally.findings.push(finding)
  fuzzing.say(`\n${signature}\n  ${finding.reproduction}`)
  if (fuzzing.saveRegressions) saveRegression({ found: signature, case: one })
}

const MAX_BODY = 2_000
const quoted = (text: string) =>
  `$'${text.replaceAll(/[\\']/g, '\\$&').replaceAll(/[^\x20-\x7e]/g, escaped)}'`
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A command that sends a case again while the system of the run is up; no token of it is of use later. */
function reproduction(one: FuzzCase, { url, fill }: FuzzWorld): string {
  const { hostname, port } = new URL(url)
  if (one.raw !== undefined || one.encoding !== undefined || one.delivery !== undefined) {
    const { bytes } = bytesOf(one, fill)
    const how = one.delivery === undefined ? '' : `  # ${JSON.stringify(one.delivery)}`
    return `echo ${bytes.toString('base64').slice(0, MAX_BODY)} | base64 -d | nc -q5 ${hostname} ${port}${how}`
  }
  const left = ['x-request-id', 'content-length', 'connection', 'host']
  const headers = one.headers
    .filter(([name]) => !left.includes(name))
    .map(([name, value]) => `-H ${quoted(`${name}: ${filled(value, fill)}`.slice(0, MAX_BODY))}`)
  const body =
    one.body === undefined ? '' : ` --data-binary ${quoted(filled(one.body, fill).slice(0, MAX_BODY))}`
  const target = filled(one.target, fill).slice(0, MAX_BODY)
  return `curl -si --path-as-is -g -X ${one.method} ${quoted(url + target)} ${headers.join(' ')}${body}`
}

/** A case that broke an oracle, as small as it got. */
interface FuzzFinding {
  signature: string
  reproduction: string
}

/** The counts of a run so far. */
interface Tally {
  sent: Record<Kind, number>
  statuses: Map<number, number>
  failures: Record<Oracle, number>
  findings: FuzzFinding[]
  count(kind: Kind, statuses: readonly number[], oracles: readonly Oracle[]): void
  total(): number
  share(status: number): number
}

const zeros = <K extends string>(keys: readonly K[]) =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>

function createTally(): Tally {
  const tally: Tally = {
    sent: zeros(KINDS),
    statuses: new Map(),
    failures: zeros(ORACLES),
    findings: [],
    count: (kind, statuses, oracles) => {
      tally.sent[kind]++
      for (const status of statuses) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
      for (const oracle of oracles) tally.failures[oracle]++
    },
    total: () => Object.values(tally.sent).reduce((sum, each) => sum + each, 0),
    share: (status) => (tally.statuses.get(status) ?? 0) / Math.max(1, tally.total()),
  }
  return tally
}

/** Each family, and its part of all requests. */
const families: Record<Kind, { cases: fc.Arbitrary<FuzzCase>; share: number }> = {
  operation: { cases: operationCases, share: 0.18 },
  body: { cases: bodyCases, share: 0.24 },
  json: { cases: jsonCases, share: 0.1 },
  token: { cases: tokenCases, share: 0.1 },
  path: { cases: pathCases, share: 0.1 },
  query: { cases: queryCases, share: 0.12 },
  header: { cases: headerCases, share: 0.09 },
  connection: { cases: connectionCases, share: 0.05 },
  spec: { cases: specCases, share: 0.02 },
}
