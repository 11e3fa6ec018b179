import { setTimeout as pause } from 'node:timers/promises'
import type { Message, Parley, Schemas, SentMessage } from '@parley/client'
import { ParleyError } from '@parley/client/parley-error'
import { phoneDigits } from '@parley/shared/providers/address'
import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import { EXIT, Failure, PostFailure, reportFailure } from '../failure.ts'
import { paint, paintState, printable, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'
import { readJsonFile } from '../read-json-file.ts'

interface Options {
  channel?: string
  phone?: string
  thread?: string
  text?: string
  template?: string
  language?: string
  var: string[]
  input?: string
  body?: string
  key?: string
  wait?: number
  json?: true
}

type NewMessage = Schemas['WebhookMessage']
const POLL_MS = 250
const SENT = ['sent', 'delivered', 'read', 'done']
/** States in which nothing happens any more before the provider or a person does something. */
const SETTLED = [...SENT, 'failed', 'dead', 'unrouted']

export function addSend(program: Command): void {
  program
    .command('send')
    .description("send a text or a template, or have a channel's handler reply to an input")
    .option('--channel <extId>', 'the channel that it names')
    .option('--phone <number>', "the recipient's number")
    .option('--thread <extId>', 'the thread that it belongs to')
    .option('--text <text>', 'a text to send')
    .option('--template <name>', 'a template to send')
    .option('--language <code>', "the template's language, such as pt_BR")
    .option(
      '--var <value>',
      "a template's variable; once for each",
      (value, all: string[]) => [...all, value],
      [],
    )
    .option('--input <text>', 'what the person wrote, for the handler')
    .option('--body <file>', 'the whole message as JSON, from a file or - for standard input')
    .option('--key <key>', 'the Idempotency-Key: a repeat with the same one is the same message')
    .option(
      '--wait <seconds>',
      'wait until it is sent; exits with 1 where it is given up, or not sent in that time',
      integer({ least: 1, most: 600 }),
    )
    .addHelpText(
      'after',
      '\nExample:\n  parley send --channel support-line --phone +5511988887777 --text "On its way." --wait 10',
    )
    .action(send)
}

async function send(options: Options): Promise<void> {
  const message =
    options.body === undefined ? messageOf(options) : ((await readJsonFile(options.body)) as NewMessage)
  const parley = connect()
  const { id, isRepeat, warning } = await post(parley, message, options)
  const sent = { _id: id, isRepeat, ...(warning !== undefined && { warning }) }
  if (!options.json)
    say(`${paint('green', 'accepted')} ${id}${isRepeat ? ' (the same message as before)' : ''}`)
  if (!options.json && warning === 'unknown-channel')
    say(
      paint(
        'yellow',
        `No channel has the external id ${printable(message.extId)}: create one, and run it again by parley replay.`,
      ),
    )
  if (!options.json && isHardlyPhone(options.phone))
    say(
      paint(
        'yellow',
        `${printable(options.phone ?? '')} is hardly a phone number: it has its country in it, as +5511988887777.`,
      ),
    )
  const waited = options.wait === undefined ? undefined : settled(parley, id, options.wait)
  const end = await waited?.catch((error: unknown) => {
    // Without its id whoever posted it could only post it again.
    if (options.json) sayJson(sent)
    throw error
  })
  if (options.wait !== undefined && !SENT.includes(end?.state ?? '')) process.exitCode = EXIT.unsent
  if (options.json) return sayJson({ ...sent, ...(end && { state: end.state, reason: end.reason }) })
  if (end !== undefined) say(`${paintState(end.state)} ${printable(end.reason ?? '')}`.trimEnd())
  if (options.wait !== undefined && !SETTLED.includes(end?.state ?? ''))
    say(`It is not sent yet after ${options.wait} s.`)
  if (options.wait === undefined) say(paint('dim', 'That is not sent yet: --wait 10 waits until it is.'))
  say(paint('dim', `parley why ${id}`))
}

/** So many digits the shortest numbers have, with their country. */
const FEWEST_DIGITS = 7

const isHardlyPhone = (phone: string | undefined): boolean =>
  phone !== undefined && (phoneDigits(phone)?.length ?? 0) < FEWEST_DIGITS

/** Throws a PostFailure with the key; Ctrl-C shows it too. A repeat without it would be a second message. */
async function post(
  parley: Parley,
  message: NewMessage,
  { key = crypto.randomUUID(), json = false }: { key?: string; json?: boolean },
): Promise<SentMessage> {
  const showKey = () => {
    const interrupted = new Failure('Interrupted.', EXIT.interrupted)
    process.exit(reportFailure(new PostFailure(interrupted, key), { json }))
  }
  process.prependListener('SIGINT', showKey)
  try {
    return await parley.messages.send(message, { idempotencyKey: key })
  } catch (error) {
    throw new PostFailure(error, key)
  } finally {
    process.off('SIGINT', showKey)
  }
}

function messageOf(options: Options): NewMessage {
  const { channel, phone, thread, text, template, language, input } = options
  if (channel === undefined) throw missing('--channel <extId> says which channel it goes through.')
  if (template !== undefined && language === undefined)
    throw missing('--language <code> belongs to a template, such as pt_BR.')
  if (text === undefined && template === undefined && input === undefined)
    throw missing('Say what to send: --text, --template with --language, or --input.')
  if (phone === undefined && thread === undefined) throw missing('--phone <number> says to whom it goes.')
  const functions =
    template === undefined ? [] : [{ name: 'callback', args: { template, variables: options.var, language } }]
  return {
    extId: channel,
    user: phone === undefined ? {} : { phone },
    thread: thread === undefined ? {} : { extId: thread },
    answer: { ...(text !== undefined && { message: text }), ...(functions.length > 0 && { functions }) },
    ...(input !== undefined && { input }),
  } as NewMessage
}

const missing = (message: string): Failure => new Failure(message, EXIT.usage)

/** The message once it is settled, or as it is when the time is over. */
async function settled(parley: Parley, id: string, seconds: number): Promise<Message | undefined> {
  const deadline = performance.now() + seconds * 1_000
  let message: Message | undefined
  do {
    message = await parley.messages.get(id).catch((error: unknown) => {
      // The log may be a moment behind.
      if (error instanceof ParleyError && error.status === 404) return undefined
      throw error
    })
    if (message !== undefined && SETTLED.includes(message.state)) return message
    await pause(POLL_MS)
  } while (performance.now() < deadline)
  return message
}
