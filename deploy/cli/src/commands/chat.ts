import { createInterface } from 'node:readline'
import type { Parley, Schemas } from '@parley/client'
import { ParleyError, type Problem, succeeded } from '@parley/client/parley-error'
import { TURN_AGENTS, type TurnAgent } from '@parley/shared/agents'
import { type Command, Option } from 'commander'
import { EXIT, Failure } from '../failure.ts'
import { paint, printable, printableLines, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'

interface Options {
  type: TurnAgent
  describe?: true
  json?: true
}

type Trial = Schemas['Trial']
type Said = { role: 'person' | 'assistant'; text: string }

/** Longer than a trial may take. */
const TRIAL_MS = 330_000
/** As many as a trial takes; earlier ones are forgotten. */
const MAX_MESSAGES = 50
const MAX_RESULT = 300

export function addChat(program: Command): void {
  program
    .command('chat')
    .argument('<assistant>', 'its id or its name')
    .description('talk to an assistant: its tools are called and shown, and nothing is sent to anybody')
    .addOption(new Option('--type <type>', 'of the agent').choices(TURN_AGENTS).default('taskManager'))
    .option('--describe', 'call no tools: the model is told so')
    .action(chat)
}

async function chat(name: string, options: Options): Promise<void> {
  const parley = connect({ timeoutMs: TRIAL_MS })
  const assistant = await findAssistant(parley, name)
  const prompt = `${paint('cyan', 'you')} `
  const terminal = process.stdin.isTTY && process.stdout.isTTY && !options.json
  const lines = createInterface({ input: process.stdin, ...(terminal && { output: process.stdout, prompt }) })
  lines.on('SIGINT', () => process.exit(EXIT.interrupted))
  if (terminal) say(paint('dim', `You talk to ${printable(assistant.name)}. An empty line ends it.`))
  let messages: Said[] = []
  try {
    if (terminal) lines.prompt()
    for await (const line of lines) {
      if (line.trim() === '') break
      messages = [...messages, { role: 'person' as const, text: line }].slice(-MAX_MESSAGES)
      const trial = await ask(parley, assistant._id, { messages, ...options })
      if (options.json) sayJson(trial)
      else show(assistant.name, trial)
      const text = trial.turns.map((turn) => turn.text).filter((each) => each.trim() !== '')
      if (text.length > 0) messages.push({ role: 'assistant', text: text.join('\n') })
      if (terminal) lines.prompt()
    }
  } finally {
    // An open terminal would keep the program running.
    lines.close()
  }
}

async function findAssistant(parley: Parley, name: string): Promise<{ _id: number; name: string }> {
  if (/^\d+$/.test(name)) {
    const found = await succeeded(
      parley.api.GET('/rest/assistant/{id}', { params: { path: { id: Number(name) } } }),
    )
    return { _id: Number(name), name: found.name }
  }
  const { data } = await succeeded(parley.api.GET('/rest/assistant', { params: { query: { name } } }))
  const [found] = data
  if (found?._id === undefined)
    throw new Failure(`There is no assistant ${JSON.stringify(name)}.`, EXIT.notFound)
  return { _id: found._id, name: found.name }
}

async function ask(
  { api }: Parley,
  id: number,
  { messages, type, describe }: { messages: Said[] } & Pick<Options, 'type' | 'describe'>,
): Promise<Trial> {
  const tools = describe === true ? ('describe' as const) : ('call' as const)
  const params = { path: { id } }
  const call = api.POST('/rest/assistant/{id}/try', { params, body: { messages, tools, type } })
  const trial = await succeeded(call)
  // A trial that takes long has begun its response with 200 before it fails.
  const { code, ...problem } = trial as Partial<Problem>
  if (code === undefined) return trial
  const { url } = (await call).response
  throw new ParleyError({ status: problem.status ?? 0, problem: { ...problem, code } as Problem, url })
}

function show(name: string, { state, reason, turns }: Trial): void {
  for (const { text, calls } of turns) {
    if (text.trim() !== '') say(`${paint('green', printable(name))} ${printableLines(text)}`)
    for (const { tool, args, result } of calls) {
      say(paint('dim', `  ${printable(tool)} ${printableLines(JSON.stringify(args))}`))
      if (result === undefined) continue
      const shown = `  → ${printableLines(result.text).slice(0, MAX_RESULT)}`
      say(paint(result.state === 'done' ? 'dim' : 'yellow', shown))
    }
  }
  if (state === 'dead' || reason !== undefined) say(paint('red', `  ${state}: ${printable(reason ?? '')}`))
}
