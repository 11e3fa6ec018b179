import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import { EXIT, Failure } from '../failure.ts'
import { paint, printable, say, sayJson } from '../output.ts'
import { postSigned, receiverOf, receiverOptions } from '../post-signed.ts'
import { currentProfile } from '../profile.ts'

interface Options {
  path: string
  secret: string
  json?: true
}

const DOCUMENT_MS = 15_000
const HANDLER = 'handler'

export function addTrigger(program: Command): void {
  const command = program
    .command('trigger')
    .argument('<what>', 'an event type, such as message.dead, or handler: a message as a handler gets it')
    .argument('<port>', 'where your receiver listens on this machine', integer({ least: 1, most: 65_535 }))
    .description('post an example of an event or a message, signed, to a receiver on this machine')
    .addHelpText('after', '\nExample:\n  parley trigger handler 3000 --path /handler')
    .action(trigger)
  for (const option of receiverOptions()) command.addOption(option)
}

async function trigger(what: string, port: number, options: Options): Promise<void> {
  const examples = await readExamples()
  const example = examples.get(what)
  if (example === undefined)
    throw new Failure(
      `Nothing is called ${JSON.stringify(what)}. There are: ${[...examples.keys()].join(', ')}.`,
      EXIT.usage,
    )
  const receiver = receiverOf(port, options)
  const body = JSON.stringify(
    what === HANDLER ? example : { ...example, timestamp: new Date().toISOString() },
  )
  const posted = await postSigned(receiver, {
    id: `msg_${crypto.randomUUID()}`,
    body,
    secret: options.secret,
  })
  const { outcome, text = '' } = posted
  const problem = posted.problem ?? (what === HANDLER ? problemOfReply(text) : undefined)
  if (problem !== undefined) process.exitCode = EXIT.findings
  if (options.json)
    return sayJson({ what, receiver, secret: options.secret, outcome, problem, response: text })
  say(`${what} went to ${receiver}, signed with ${options.secret}`)
  const shown = problem === undefined ? outcome : `${outcome}: ${problem}`
  say(paint(problem === undefined ? 'green' : 'red', printable(shown)))
  if (what === HANDLER && problem === undefined) say(replyInWords(text))
}

interface Webhook {
  post?: { requestBody?: { content?: Record<string, { example?: Record<string, unknown> }> } }
}

/** The examples of the gateway's own API document, by the type of the event. Throws where it does not respond in 15 s. */
async function readExamples(): Promise<Map<string, Record<string, unknown>>> {
  const address = new URL('/openapi.json', currentProfile().url)
  const response = await fetch(address, { signal: AbortSignal.timeout(DOCUMENT_MS) })
  const { webhooks = {} } = (await response.json()) as { webhooks?: Record<string, Webhook> }
  return new Map(
    Object.entries(webhooks).flatMap(([name, { post }]): [string, Record<string, unknown>][] => {
      const example = post?.requestBody?.content?.['application/json']?.example
      if (example === undefined) return []
      return [[name.includes('{') ? String(example.type) : name, example]]
    }),
  )
}

interface Reply {
  answer?: { message?: unknown; functions?: { name?: unknown }[] }
}

function problemOfReply(text: string): string | undefined {
  const reply = jsonOrUndefined(text)
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply))
    return 'its response is no message: the message is expected as JSON, with its answer'
  return undefined
}

function replyInWords(text: string): string {
  const { answer } = JSON.parse(text) as Reply
  const message = typeof answer?.message === 'string' ? [`It says: ${answer.message}`] : []
  const functions = Array.isArray(answer?.functions)
    ? answer.functions.map(({ name }) => `It calls ${name}.`)
    : []
  const lines = [...message, ...functions]
  return printable(lines.length === 0 ? 'It says nothing: nothing would be sent.' : lines.join(' '))
}
