import type { Parley, Schemas } from '@parley/client'
import { ParleyError, succeeded } from '@parley/client/parley-error'
import { durationText } from '@parley/shared/explain-message'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Command } from 'commander'
import { checkAccount, type Diagnosis } from '../check-account.ts'
import { EXIT, Failure, isUnreachable } from '../failure.ts'
import { paint, printable, say, sayJson } from '../output.ts'
import { connect, currentProfile } from '../profile.ts'
import { roleInWords } from '../role-in-words.ts'

interface Options {
  channel?: string
  template?: string
  language?: string
  json?: true
}

type Check = AsyncGenerator<Diagnosis>

const PROBE_MS = 10_000
const MAX_SKEW_MS = 30_000
const PAGE = 200
const MAX_HOOKS = 1_000

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'check gateway, clock, token, dependencies and webhooks; exits with 1 where something is to be mended',
    )
    .option('--channel <extId>', "also the provider's side of this channel, such as its number")
    .option('--template <name>', 'and whether this template is approved there')
    .option('--language <code>', 'in this language')
    .action(examine)
}

async function examine(options: Options): Promise<void> {
  if (options.channel === undefined && options.template !== undefined)
    throw new Failure(
      '--template needs --channel <extId>: templates belong to the account of a channel.',
      EXIT.usage,
    )
  const { url } = currentProfile()
  const parley = connect({ repeatForMs: 0 })
  let isBad = false
  for await (const diagnosis of checksOf(parley, { ...options, url })) {
    isBad ||= diagnosis.result === 'bad'
    if (options.json) sayJson(diagnosis)
    else say(lineOf(diagnosis))
  }
  if (isBad) process.exitCode = EXIT.findings
}

const MARKS = { ok: ['green', '✓'], bad: ['red', '✗'], unknown: ['yellow', '?'] } as const

function lineOf({ check, result, text }: Diagnosis): string {
  const [colour, mark] = MARKS[result]
  return `${paint(colour, mark)} ${check.padEnd(12)} ${printable(text)}`
}

async function* checksOf(parley: Parley, options: Options & { url: string }): Check {
  let isThere = false
  for await (const diagnosis of checkGateway(options.url)) {
    isThere ||= diagnosis.check === 'gateway' && diagnosis.result === 'ok'
    yield diagnosis
  }
  if (!isThere) return
  yield* checkDependencies(options.url)
  for await (const diagnosis of checkToken(parley)) {
    yield diagnosis
    if (diagnosis.result !== 'ok') return
  }
  yield* orBad('webhooks', checkWebhooks(parley))
  const { channel, template, language } = options
  if (channel !== undefined) yield* orBad('channel', checkAccount(parley, { channel, template, language }))
}

/** Checks that the gateway responds, and how far this machine's clock is from its. */
async function* checkGateway(url: string): Check {
  const startedAt = Date.now()
  let response: Response
  try {
    response = await fetch(new URL('/health/live', url), { signal: AbortSignal.timeout(PROBE_MS) })
    await response.arrayBuffer()
  } catch (error) {
    const { code = 'no response' } = ((error as Error).cause ?? {}) as { code?: string }
    return yield {
      check: 'gateway',
      result: 'bad',
      text: `${url} does not respond (${code}): is the address right, and does it run?`,
    }
  }
  const endedAt = Date.now()
  if (!response.ok)
    return yield {
      check: 'gateway',
      result: 'bad',
      text: `${url} responds with ${response.status}: is it a Parley gateway?`,
    }
  yield { check: 'gateway', result: 'ok', text: `${url} responds in ${endedAt - startedAt} ms` }
  const theirs = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(theirs))
    return yield { check: 'clock', result: 'unknown', text: 'The gateway names no time.' }
  // The header has whole seconds.
  const skew = theirs + 500 - (startedAt + endedAt) / 2
  const isFar = Math.abs(skew) > MAX_SKEW_MS
  const text = isFar
    ? `This machine's clock is ${durationText(Math.abs(skew))} ${skew > 0 ? 'behind' : 'ahead of'} the gateway's: signatures of webhooks are refused beyond 5 min.`
    : "This machine's clock agrees with the gateway's."
  yield { check: 'clock', result: isFar ? 'bad' : 'ok', text }
}

async function* checkDependencies(url: string): Check {
  const response = await fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(PROBE_MS) })
  const { status, dependencies } = (await response.json()) as Schemas['Readiness']
  const down = Object.entries(dependencies).flatMap(([name, state]) => (state === 'up' ? [] : [name]))
  const text =
    down.length === 0
      ? `${status}: ${Object.keys(dependencies).join(', ')} are up`
      : `${status}: ${down.join(', ')} not available`
  yield { check: 'dependencies', result: down.length === 0 ? 'ok' : 'bad', text }
}

async function* checkToken(parley: Parley): Check {
  try {
    const { username, role, workspace } = await succeeded(parley.api.POST('/api/auth/me', { body: {} }))
    yield {
      check: 'token',
      result: 'ok',
      text: `${username}, ${roleInWords(role.name)} in ${workspace.host}`,
    }
  } catch (error) {
    if (!(error instanceof ParleyError) || error.status !== 401) throw error
    const { title = 'It is refused', detail } = error.problem ?? {}
    yield { check: 'token', result: 'bad', text: `${detail ?? title}. Log in with parley login.` }
  }
}

/** Checks what each channel's webhook lacks, when its provider was last heard of, and that its address leads here. */
async function* checkWebhooks(parley: Parley): Check {
  let count = 0
  for await (const hook of parley.list('/rest/hooks', { limit: PAGE })) {
    const provider = providerNamed(hook.channel.hook)
    if (provider?.description.receiving === undefined) continue
    if (++count > MAX_HOOKS)
      return yield { check: 'webhook', result: 'unknown', text: 'There are more, which were not checked.' }
    yield await checkWebhook(hook, provider)
  }
  if (count === 0) yield { check: 'webhook', result: 'ok', text: 'No channel has one of a provider.' }
}

async function checkWebhook(
  { channel, url, problems, handshake, lastError, lastReceivedAt }: Schemas['Hook'],
  { description: { receiving }, settings }: Provider,
): Promise<Diagnosis> {
  const bad = (text: string): Diagnosis => ({
    check: 'webhook',
    result: 'bad',
    text: `${channel.extId}: ${text}`,
  })
  if (problems.length > 0 || url === null) return bad(problems.join(' '))
  const reached = receiving?.probe && (await reach(url, receiving.probe))
  if (reached !== undefined) return bad(`${url} ${reached}`)
  // An update to another channel's address may be for this one.
  if (receiving?.hasHandshake && !handshake.succeeded && lastReceivedAt === null) {
    const pasted = settings.flatMap(({ label, isGenerated }) => (isGenerated ? [label.toLowerCase()] : []))
    return bad(`the provider has not verified ${url} yet: paste it, and the ${pasted.join(', ')}, there.`)
  }
  if (lastError !== null && Date.parse(lastError.at) > Date.parse(lastReceivedAt ?? '1970-01-01'))
    return bad(lastError.message)
  const shown = [receiving?.probe && ' is reached', handshake.succeeded && ' is verified']
  const last = lastReceivedAt === null ? 'nothing has come yet' : `last heard of at ${lastReceivedAt}`
  const text = `${channel.extId}: ${url}${shown.filter(Boolean).join(' and')}, ${last}`
  return { check: 'webhook', result: 'ok', text }
}

/** A probe is refused with 403, where the address leads to Parley. Else what is wrong with it. */
async function reach(url: string, query: Readonly<Record<string, string>>): Promise<string | undefined> {
  const probe = new URL(url)
  probe.search = new URLSearchParams(query).toString()
  try {
    const response = await fetch(probe, { signal: AbortSignal.timeout(PROBE_MS) })
    await response.arrayBuffer()
    const isParley = response.status === 403 && response.headers.has('x-request-id')
    return isParley
      ? undefined
      : `responds with ${response.status}: does PUBLIC_URL of the deployment lead to the gateway?`
  } catch {
    return 'can not be reached from here: does PUBLIC_URL of the deployment lead to the gateway?'
  }
}

/** A check that fails is a finding, and the others go on. */
async function* orBad(check: string, diagnoses: Check): Check {
  try {
    yield* diagnoses
  } catch (error) {
    if (!(error instanceof ParleyError) && !isUnreachable(error)) throw error
    yield { check, result: 'bad', text: error.message }
  }
}
