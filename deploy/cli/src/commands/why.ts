import type { Message, Parley } from '@parley/client'
import { ParleyError, succeeded } from '@parley/client/parley-error'
import { type Explanation, explainMessage } from '@parley/shared/explain-message'
import { providerOfSource } from '@parley/shared/providers/registry'
import type { Command } from 'commander'
import { EXIT, Failure } from '../failure.ts'
import { findMessages } from '../find-message.ts'
import { paint, paintState, printable, say, sayJson, timeText } from '../output.ts'
import { connect } from '../profile.ts'
import { messageLine } from './tail.ts'

const TROUBLED = ['failed', 'dead', 'unrouted']

export function addWhy(program: Command): void {
  program
    .command('why')
    .argument('<what>', 'a message id, phone number, thread, request id or id at the provider')
    .description(
      'say what became of a message: what happened, what it waits for, whose fault it is, what to do',
    )
    .action(why)
}

async function why(what: string, { json }: { json?: true }): Promise<void> {
  const parley = connect()
  const found = await findMessages(parley, what)
  // Of several, the one that somebody asks about is the one in trouble.
  const chosen = found.find(({ state }) => TROUBLED.includes(state)) ?? found[0]
  if (chosen === undefined)
    throw new Failure(
      `Nothing is known of ${JSON.stringify(what)}: no message id, phone number, thread, request id or id at the provider of this workspace.`,
      EXIT.notFound,
    )
  const message = await parley.messages.get(chosen._id)
  const means = {
    replay: `parley replay ${message._id}`,
    look: (id: string) => `parley why ${id}`,
    check: 'parley check',
    doctor: 'parley doctor',
  }
  const surroundings = { now: new Date(), means, ...(await surroundingsOf(parley, message)) }
  const explanation = explainMessage(message, surroundings)
  const others = found.filter(({ _id }) => _id !== chosen._id)
  if (json) return sayJson({ ...explanation, message, others })
  show(message, explanation)
  if (others.length > 0)
    say(`\nOther messages:\n${others.map((other) => `  ${messageLine(other)}`).join('\n')}`)
}

async function surroundingsOf(parley: Parley, message: Message) {
  if (TROUBLED.includes(message.state)) {
    const query = { extId: message.channel, limit: 1 }
    const found = await ifShown(succeeded(parley.api.GET('/rest/channels', { params: { query } })))
    return { channelExists: found && found.data.length > 0, provider: found?.data[0]?.callback }
  }
  const before = message.waiting?.message
  return { before: before === undefined ? undefined : await ifShown(parley.messages.get(before)) }
}

/** Resolves to something that explains a message further; to undefined where the role does not show it. */
async function ifShown<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ParleyError && [403, 404].includes(error.status)) return undefined
    throw error
  }
}

function show(message: Message, { verdict, events, waits, fault, advice }: Explanation): void {
  const { _id, channel, thread, phone, source, requestId } = message
  say(`${paintState(message.state).trimEnd()} ${paint('bold', printable(verdict))}`)
  const sender = providerOfSource(source)
  const from = sender === undefined ? 'posted' : `from ${sender.description.label}`
  const to = phone === undefined ? '' : ` for +${phone}`
  say(
    paint(
      'dim',
      printable(
        `${_id}, ${from} on channel ${channel}, thread ${thread}${to}${requestId ? `, request ${requestId}` : ''}`,
      ),
    ),
  )
  say()
  for (const { at, text, code, isTrouble } of events) {
    const shown = isTrouble ? paint('yellow', printable(text)) : printable(text)
    const aside = code === undefined ? '' : paint('dim', ` [${printable(code)}]`)
    say(`  ${paint('dim', timeText(at))} ${shown}${aside}`)
  }
  for (const { content, state, providerId } of message.sends)
    if (providerId !== undefined) say(paint('dim', `  ${content.kind} ${state} as ${printable(providerId)}`))
  if (waits !== undefined) say(`\n${paint('cyan', 'Waits')}  ${printable(waits)}`)
  if (fault !== undefined) say(`\n${paint('red', 'Fault')}  ${fault}`)
  if (advice.length > 0) say(`\n${paint('green', 'To do')}  ${advice.map(printable).join('\n       ')}`)
}
