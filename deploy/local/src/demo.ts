import { join } from 'node:path'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import cliProgress from 'cli-progress'
import { z } from 'zod'
import { STATE_DIRECTORY } from './checkout.ts'
import { exchangeText, isComplete, resultText } from './demo/assistant/report.ts'
import { type Exchange, runAssistantDemo } from './demo/assistant/run-assistant-demo.ts'
import { campaignText } from './demo/campaign/report.ts'
import { runCampaignDemo } from './demo/campaign/run-campaign-demo.ts'
import { calmText, faultyText, tableText } from './demo/report.ts'
import { type DemoProgress, type DemoResult, runDemo } from './demo/run-demo.ts'
import { findRunningSystem } from './demo/running-system.ts'
import { SetupError } from './setup-error.ts'

const size = z.object({
  MESSAGES: integer({ min: 1, max: 200_000 }).default(1_000).describe('How many messages are sent'),
  THREADS: integer({ min: 1, max: 10_000 }).default(100).describe('Over how many threads'),
})

const audienceSize = z.object({
  PEOPLE: integer({ min: 300, max: 20_000 }).default(2_000).describe('How many people the campaign is for'),
})

const FAILURES = `2. The same, while 5% of the sends fail, 2% of the responses get lost, and a
   dispatcher is killed half-way`

/** The demos, by the name that follows `npm run demo --`. */
const demos: Record<string, () => Promise<{ succeeded: boolean }>> = {
  messages: showMessages,
  assistant: showAssistant,
  campaign: showCampaign,
}

try {
  const [name = 'messages'] = process.argv.slice(2)
  const show = Object.hasOwn(demos, name) ? demos[name] : undefined
  if (show === undefined)
    throw new SetupError(`There is no demo ${name}. There are: ${Object.keys(demos).join(', ')}.`)
  process.exitCode = (await show()).succeeded ? 0 : 1
} catch (error) {
  if (!(error instanceof SetupError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

/** A conversation with an assistant, through a workflow of three steps. */
async function showAssistant(): Promise<{ succeeded: boolean }> {
  const urls = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  console.log(`A clinic's assistant books an appointment, through ${urls.gatewayUrl}`)
  console.log("The model is the bundled simulator; the clinic's diary fails once\n")
  const onExchange = (message: Exchange) => console.log(exchangeText(message))
  const result = await runAssistantDemo({ ...urls, onExchange })
  console.log(resultText(result))
  return { succeeded: isComplete(result) }
}

/** A campaign whose template is paused in the middle, to people with and without consent. */
async function showCampaign(): Promise<{ succeeded: boolean }> {
  const { PEOPLE: people } = parseConfig(audienceSize, process.env)
  const { gatewayUrl, simulatorUrl } = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  console.log(`A campaign to ${people} people, with consent and without, through ${gatewayUrl}\n`)
  const say = (what: string) => console.log(what)
  const result = await runCampaignDemo({ gatewayUrl, simulatorUrl, people, say })
  console.log(campaignText(result))
  return { succeeded: result.isWhole }
}

/** The same messages twice: first calm, then while things fail. */
async function showMessages(): Promise<{ succeeded: boolean }> {
  const { MESSAGES: messages, THREADS: threads } = parseConfig(size, process.env)
  const runFile = join(STATE_DIRECTORY, 'run.json')
  const system = await findRunningSystem(runFile)
  console.log(`${messages} messages over ${threads} threads, through ${system.gatewayUrl}`)
  const run = async (title: string, withFailures: boolean) => {
    console.log(`\n${title}\n`)
    return withProgress(messages, (progress) =>
      runDemo({ system, runFile, messages, threads, withFailures, progress }),
    )
  }
  const calm = await run('1. Calm', false)
  console.log(calmText(calm))
  const faulty = await run(FAILURES, true)
  console.log(faultyText(faulty))
  console.log(tableText(calm, faulty))
  return { succeeded: calm.reconciled && faulty.reconciled }
}

async function withProgress(
  messages: number,
  run: (progress: DemoProgress) => Promise<DemoResult>,
): Promise<DemoResult> {
  const bars = new cliProgress.MultiBar({
    format: '  {what} [{bar}] {percentage}% {value}/{total} {duration_formatted}',
    barsize: 30,
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 5_000,
  })
  const accepted = bars.create(messages, 0, { what: 'answered 200    ' })
  const arrived = bars.create(messages, 0, { what: 'at the simulator' })
  try {
    return await run({
      accepted: () => accepted.increment(),
      arrived: (different: number) => arrived.update(different),
      killing: (victim: string) => bars.log(`  Killing ${victim} (SIGKILL)\n`),
    })
  } finally {
    bars.stop()
  }
}
