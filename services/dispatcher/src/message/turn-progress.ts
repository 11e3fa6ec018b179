import { defined } from '@parley/shared/defined'
import type { Attempt, Ending, MessageRecord, Progress, Send, SendState } from './message-record.ts'
import { NO_RESPONSE } from './outcome.ts'
import { carried, handled, withAttempt, withSend } from './progress.ts'
import { textsOf } from './split-text.ts'
import { MAY_HAVE_RUN, type ToolCall, type ToolResult, type Turn } from './turn.ts'

/** The calls of one turn, as many as an answer may have functions. */
const MAX_CALLS = 50
const MAX_TEXT_BYTES = 16 * 1024
/** Of the arguments of all calls of a turn. */
const MAX_ARGS_BYTES = 64 * 1024
const MAX_RESULT_BYTES = 16 * 1024
/** Of the results of all turns of a message; beyond it each result has 1 KiB. */
const MAX_RESULTS_BYTES = 4 * 1024 * 1024
const LEAST_RESULT_BYTES = 1024

/** A person takes the thread over. */
export const HANDED_OFF: Ending = { state: 'done', reason: 'handed_off' }

const NOT_RUN = 'This tool was not run.'
/** The result for the model of a call whose claimant is gone. */
export const INTERRUPTED_CALL: ToolResult = {
  state: 'failed',
  text: `${MAY_HAVE_RUN} The call was interrupted.`,
  uncertain: true,
}

/** How what a model wrote leaves: as another text, in parts of `maxText`. */
interface Saying {
  /** A text beside the turn's own, sent before its calls. */
  more?: string
  maxText?: number | undefined
  write?(text: string): string
}

const asItIs = (text: string): string => text

/** The message's progress with a further turn: what it says is sent first, then what it calls, in order. */
export function turnStored(
  record: MessageRecord,
  { turn, at, ...saying }: { turn: Omit<Turn, 'at'>; at: number } & Saying,
): Progress {
  const stored = boundedTurn({ ...turn, at: new Date(at) })
  const turns = [...settledTurns(record), stored]
  const before = record.state === 'received' ? handled(record, { at }) : carried(record)
  const sends = [...record.sends, ...sendsOf(record, { turn: stored, position: turns.length - 1, ...saying })]
  return { ...before, open: true, tries: 0, sends, turns }
}

/** The message's progress after the call behind the send at `index` was made, or can't be: the model is given `result`. */
export function callSettled(
  record: MessageRecord,
  options: {
    index: number
    result: ToolResult
    state: SendState
    attempt?: Attempt
    providerId?: string
  },
): Progress {
  const { index, state, attempt, providerId } = options
  const change = { state, ...defined({ providerId }), ...failedContent(record, options) }
  const attempts = attempt === undefined ? record.attempts : withAttempt(record.attempts, attempt)
  const send = record.sends[index]
  const isTool = send?.content.kind === 'tool'
  const mayHaveRun = isTool && attempts.some(({ step, code }) => step === send.id && code === NO_RESPONSE)
  const result = mayHaveRun ? unlessDone(options.result) : options.result
  const turns = withResult(record, send?.of, result)
  const sends = withSend(record.sends, index, change)
  return { ...carried(record), open: true, tries: 0, attempts, sends, turns }
}

/** Marks a failure as uncertain if it follows an attempt that may have succeeded. */
const unlessDone = (result: ToolResult): ToolResult =>
  result.state === 'done' || result.uncertain
    ? result
    : { ...result, text: `${MAY_HAVE_RUN} ${result.text}`, uncertain: true }

/** The message's progress once its thread is a person's, and the channel's system was told or could not be. */
export function handOffSettled(
  record: MessageRecord,
  { at, ...options }: Parameters<typeof callSettled>[1] & { at: number },
): Progress {
  const settled = { ...record, ...callSettled(record, options) }
  return endDecided(settled, { ending: HANDED_OFF, at })
}

/** Turns content that could not be sent back into a call: nothing of it got to the person. */
function failedContent(
  { sends, turns }: MessageRecord,
  { index, state }: { index: number; state: SendState },
): Partial<Send> {
  const of = sends[index]?.of
  const call = of?.call === undefined ? undefined : turns?.[of.turn]?.calls[of.call]
  return state !== 'failed' || call === undefined ? {} : { content: { kind: 'tool', name: call.tool } }
}

/** The message's progress when its end is decided: calls that have not begun are not made, and `farewell` is sent before. */
export function endDecided(
  record: MessageRecord,
  options: { ending: Ending; farewell?: string; maxText?: number | undefined; at: number },
): Progress {
  const { ending, farewell = '', maxText, at } = options
  const before = record.state === 'received' ? handled(record, { at }) : carried(record)
  const sends = record.sends.map((send) =>
    isUnbegunCall(send) ? { ...send, state: 'failed' as const } : send,
  )
  const turns = settledTurns({ ...record, sends })
  const said = plannedSends(record, textsOf(farewell, maxText))
  return { ...before, open: true, tries: 0, turns, sends: [...sends, ...said], ending }
}

/** The turns, each call with a result: where a status of the provider settled a send, nobody has given one. */
export function settledTurns<T extends Pick<Turn, 'calls'>>({
  turns = [],
  sends,
}: {
  turns?: T[]
  sends: Pick<Send, 'state' | 'of'>[]
}): T[] {
  if (turns.at(-1)?.calls.every(({ result }) => result !== undefined) !== false) return turns
  return turns.map((turn, position) => ({
    ...turn,
    calls: turn.calls.map((call, at) => ({ ...call, result: call.result ?? resultOf(sends, position, at) })),
  }))
}

/** The text, cut to so many bytes at the boundary of a character. */
export function cutTo(text: string, bytes: number): { text: string; cut?: true } {
  if (Buffer.byteLength(text) <= bytes) return { text }
  const cut = Buffer.from(text).subarray(0, bytes).toString()
  return { text: cut.replace(/\uFFFD$/, ''), cut: true }
}

function resultOf(sends: Pick<Send, 'state' | 'of'>[], turn: number, call: number): ToolResult {
  const send = sends.find(({ of }) => of?.turn === turn && of.call === call)
  if (send?.state === 'claimed') return INTERRUPTED_CALL
  const isSent = send !== undefined && ['sent', 'delivered', 'read'].includes(send.state)
  return isSent ? { state: 'done', text: 'Sent.' } : { state: 'failed', text: NOT_RUN }
}

const isUnbegunCall = ({ content, state }: Send): boolean => content.kind === 'tool' && state === 'pending'

type PlannedSend = Omit<Send, 'id' | 'state'>

function sendsOf(record: MessageRecord, options: { turn: Turn; position: number } & Saying): Send[] {
  const { turn, position, maxText, write = asItIs, more = '' } = options
  const parts = [turn.text, more].filter((text) => text.trim() !== '')
  const said = parts.flatMap((text) => textsOf(write(text), maxText))
  const texts = said.map((text) => ({ ...text, of: { turn: position } }))
  const calls = turn.calls.flatMap(({ tool, result }, call): PlannedSend[] =>
    result === undefined ? [{ content: { kind: 'tool', name: tool }, of: { turn: position, call } }] : [],
  )
  return plannedSends(record, [...texts, ...calls])
}

const plannedSends = ({ _id, sends }: MessageRecord, planned: PlannedSend[]): Send[] =>
  planned.map((send, at) => ({ id: `${_id}:${sends.length + at}`, state: 'pending', ...send }))

function withResult({ turns = [] }: MessageRecord, of: Send['of'], result: ToolResult): Turn[] {
  const used = turns.flatMap(({ calls }) => calls).reduce((sum, call) => sum + bytesOf(call.result), 0)
  const room = Math.max(LEAST_RESULT_BYTES, Math.min(MAX_RESULT_BYTES, MAX_RESULTS_BYTES - used))
  const stored = { ...result, ...cutTo(result.text, room) }
  return turns.map((turn, position) => {
    if (position !== of?.turn) return turn
    const calls = turn.calls.map((call, at) => (at === of.call ? { ...call, result: stored } : call))
    return { ...turn, calls }
  })
}

const bytesOf = (result: ToolResult | undefined): number =>
  result === undefined ? 0 : Buffer.byteLength(result.text)

/** A model may answer anything; what is stored has bounds, and each call an id of its own. */
function boundedTurn(turn: Turn): Turn {
  const ids = new Set<string>()
  let room = MAX_ARGS_BYTES
  const calls = turn.calls.slice(0, MAX_CALLS).map((call, position): ToolCall => {
    const id = call.id === '' || ids.has(call.id) ? `call_${position}` : call.id.slice(0, 128)
    ids.add(id)
    const named = { ...call, id, tool: call.tool.slice(0, 128) }
    const bytes = Buffer.byteLength(call.args)
    if (bytes <= room) {
      room -= bytes
      return named
    }
    return { ...named, args: '{}', result: { state: 'failed', text: 'The arguments are too long.' } }
  })
  return { ...turn, text: cutTo(turn.text, MAX_TEXT_BYTES).text, calls }
}
