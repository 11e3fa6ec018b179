import { allProviders, providerNamed } from './providers/registry.ts'

/** A text in a reader's language by its English one, in which names in braces stand for values. */
type Say = (message: string, values?: Readonly<Record<string, string | number>>) => string

const inEnglish: Say = (message, values = {}) =>
  message.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))

/** A message as `GET /rest/messages/{id}` has it, as far as it explains itself. */
export interface ExplainedMessage {
  _id: string
  channel: string
  state: string
  reason?: string | undefined
  fault?: string | null | undefined
  requestId?: string | null
  updatedAt: string
  waiting?:
    | { for: string; since: string; until?: string | undefined; code?: string; error?: string }
    | undefined
  timeline: readonly { at: string; state: string; reason?: string }[]
  attempts: readonly {
    at: string
    step: string
    outcome: string
    code?: string
    error?: string
    ms: number
  }[]
  sends: readonly { id: string; content: { kind: string } }[]
}

/** How one does what is advised, each in words that end a sentence. */
interface Means {
  replay: string
  look(id: string): string
  check: string
  doctor: string
}

/** Facts beside the message by which it is explained. */
interface Surroundings {
  now: Date
  means: Means
  /** English where it is left out. */
  say?: Say
  /** The message of its thread that has to end first, where there is one. */
  before?: Pick<ExplainedMessage, '_id' | 'state'> | undefined
  /** True when the workspace has a channel with this external id now; undefined where that is not known. */
  channelExists?: boolean | undefined
  /** The name of the provider that the channel sends through now; undefined where that is not known. */
  provider?: string | undefined
}

interface ExplainedEvent {
  at: string
  text: string
  /** The code that the other side, or we, give it. */
  code?: string
  isTrouble: boolean
}

/** The course of a message, in words. */
export interface Explanation {
  /** Where it stands, in one sentence. */
  verdict: string
  /** The events, from the first on. */
  events: ExplainedEvent[]
  /** The condition that it waits for; undefined where it waits for nothing. */
  waits: string | undefined
  /** Whose fault it is that it is not delivered; undefined where it is nobody's. */
  fault: string | undefined
  /** The things to do, each a sentence. */
  advice: string[]
  /** It would fail again. */
  isReplayFutile: boolean
}

/** Explains a message from its record alone, and what surrounds it. */
export function explainMessage(message: ExplainedMessage, given: Surroundings): Explanation {
  const { say = inEnglish } = given
  const surroundings = { ...given, say }
  // An attempt goes before the change that it brought about at the same time.
  const events = [
    ...message.attempts.flatMap((attempt) => attemptEvents(message, attempt, say)),
    ...message.timeline.map((change) => changeEvent(change, say)),
  ]
  return {
    verdict: verdictOf(message, surroundings),
    events: events.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)),
    waits: waitOf(message, surroundings),
    fault: translated(FAULTS[message.fault ?? ''], say),
    advice: adviceOn(message, surroundings),
    isReplayFutile: isReplayFutile(message),
  }
}

/** True if the same message would fail again, by whose fault it is. */
export const isReplayFutile = ({ fault }: Pick<ExplainedMessage, 'fault'>): boolean =>
  FUTILE[fault ?? ''] !== undefined

/** Why a message ended so, in words where it is a code. */
export const reasonInWords = (reason: string, say: Say = inEnglish): string =>
  translated(REASONS[reason], say) ?? reason

const translated = (text: string | undefined, say: Say): string | undefined =>
  text === undefined ? undefined : say(text)

const FAULTS: Record<string, string> = {
  caller: 'The caller: what was posted can not be sent as it is.',
  channel: 'The channel: its configuration, its handler or its account with the provider.',
  provider: 'The provider, or the endpoint that is called: it failed or could not be reached.',
  recipient: 'The person: they do not want it, or are not to get it.',
  us: 'Parley itself.',
}

const STATES: Record<string, string> = {
  received: 'Accepted and stored',
  handled: 'Its answer is known',
  sending: 'A send has begun',
  sent: 'The provider took it',
  delivered: 'It reached the recipient',
  read: 'The recipient read it',
  done: 'Done: there was nothing to send',
  failed: 'The provider said later that it failed',
  dead: 'Given up',
  unrouted: 'No channel was found for it',
}

const stateText = (state: string, say: Say): string => translated(STATES[state], say) ?? state

/** Reasons by the code of a message that ends without an answer. */
const REASONS: Record<string, string> = {
  handler_is_person: 'the team has the conversation',
  handed_off: 'the assistant handed it over to the team',
  group_message: 'it was written in a group',
  deleted: 'its writer took it back',
  cancelled: 'it was taken back before its time',
  app_message: 'it was written in the provider’s own app',
  history: 'it was written before the channel was connected',
  own_send: 'it reports a send of ours',
  original_unknown: 'what it changes is not here',
  reaction: 'it is a reaction',
  edit: 'it changes an earlier message',
  deletion: 'it takes an earlier message back',
  contact: 'it names a contact',
  notice: 'it is a notice of the provider’s',
}

function changeEvent({ at, state, reason }: ExplainedMessage['timeline'][number], say: Say) {
  const what = stateText(state, say)
  const text = reason === undefined ? `${what}.` : `${what}: ${reasonInWords(reason, say)}`
  return { at, text, isTrouble: ['failed', 'dead', 'unrouted'].includes(state) }
}

function attemptEvents(
  message: ExplainedMessage,
  attempt: ExplainedMessage['attempts'][number],
  say: Say,
): ExplainedEvent[] {
  const { at, step, outcome, code, error, ms } = attempt
  const values = { what: stepText(message, step, say), duration: durationText(ms) }
  // That it was accepted is in the timeline, but for each of several.
  if (outcome === 'accepted') {
    const text = say('{what} was accepted after {duration}.', values)
    return message.sends.length > 1 ? [{ at, text, isTrouble: false }] : []
  }
  const text = attemptText(outcome, { isFinal: code === 'effect_unknown', values, say })
  return [
    {
      at,
      text: error === undefined ? text : `${text} ${say('It said: {error}', { error })}`,
      ...(code !== undefined && { code }),
      isTrouble: true,
    },
  ]
}

function attemptText(
  outcome: string,
  { isFinal, values, say }: { isFinal: boolean; values: Record<string, string>; say: Say },
): string {
  if (outcome === 'retryable') return say('{what} failed after {duration}; it is tried again.', values)
  if (outcome === 'permanent')
    return say('{what} was refused after {duration}; trying again would not help.', values)
  return isFinal
    ? say(
        '{what} brought no usable answer after {duration}: it may have happened, so it is not called again by itself.',
        values,
      )
    : say(
        '{what} brought no usable answer after {duration}: it may have happened, so a status is waited for first.',
        values,
      )
}

/** Returns the step of an attempt in words: the handler, or one of the sends. */
function stepText({ sends }: ExplainedMessage, step: string, say: Say): string {
  if (step === 'handler') return say("The channel's handler")
  const index = sends.findIndex(({ id }) => id === step)
  const content = sends[index]?.content as
    | { kind: string; template?: string; name?: string; type?: string }
    | undefined
  if (content === undefined) return say('A step of ours')
  const name = content.template ?? content.name ?? content.type
  const of = [content.kind, name].filter((one) => one !== undefined).join(' ')
  return say('Send {number} ({of})', { number: index + 1, of })
}

function verdictOf(
  message: ExplainedMessage,
  { now, say }: Required<Pick<Surroundings, 'now' | 'say'>>,
): string {
  const { state, reason, updatedAt } = message
  const what = stateText(state, say)
  const duration = durationText(Math.max(now.getTime() - Date.parse(updatedAt), 0))
  if (isWaiting(message)) return say('It is under way, and waits.')
  if (['received', 'handled', 'sending'].includes(state))
    return say('It is under way: {what} {duration} ago.', { what: what.toLowerCase(), duration })
  if (reason === undefined) return say('{what} {duration} ago.', { what, duration })
  return say('{what} {duration} ago: {reason}', { what, duration, reason: reasonInWords(reason, say) })
}

/** True if a message waits; a step that a run is about to make, or makes, is no wait. */
const isWaiting = ({ waiting }: ExplainedMessage): boolean =>
  waiting !== undefined && !['turn', 'answer', 'thread'].includes(waiting.for)

const WAITS: Record<string, string> = {
  retry: 'its next try, after one that failed',
  rate: "the rate limit of the channel's number",
  person_rate: 'the rate at which the provider takes messages for one person',
  circuit_breaker: 'an endpoint that failed too often lately: its calls pause',
  host: 'other calls to the same host to end',
  status: 'a status from the provider: whether the send happened is not known, and it must not happen twice',
  configuration: 'the channel or action that it names: it may be configured in a moment',
  server: 'RabbitMQ or MongoDB, which is unavailable',
  model: 'the answer of a language model',
  gathering: 'further messages of its thread, which get one answer with it',
  schedule: 'the time at which it is to be sent',
  template: 'its template, which the provider has paused because of its quality',
}

type Around = Surroundings & Required<Pick<Surroundings, 'say'>>

function waitOf(message: ExplainedMessage, { now, before, say }: Around): string | undefined {
  const { waiting } = message
  if (waiting !== undefined && isWaiting(message)) return waitText(message, waiting, { now, say })
  if (before !== undefined)
    return say(
      "It waits for {id}, which came before it in its thread and is {state}: a thread's messages leave in order.",
      { id: before._id, state: before.state },
    )
  if (message.state === 'sent') return say('It waits for the provider to say that it was delivered.')
  return undefined
}

function waitText(
  { reason }: ExplainedMessage,
  { for: cause, until: due, since, code, error }: NonNullable<ExplainedMessage['waiting']>,
  { now, say }: Pick<Around, 'now' | 'say'>,
): string {
  const left = due === undefined ? Number.NaN : Date.parse(due) - now.getTime()
  const values = {
    what: translated(WAITS[cause], say) ?? cause,
    waited: durationText(Math.max(now.getTime() - Date.parse(since), 0)),
  }
  const wait = Number.isNaN(left)
    ? say('It waits for {what}, since {waited} ago.', values)
    : left > 0
      ? say('It waits for {what}, since {waited} ago, for {left} more.', {
          ...values,
          left: durationText(left),
        })
      : say('It waits for {what}, since {waited} ago, which is due now.', values)
  const last =
    code === undefined
      ? undefined
      : error === undefined
        ? say('Its last try failed.')
        : say('Its last try failed: {error}', { error })
  return [wait, reason, last].filter((part) => part !== undefined).join(' ')
}

function adviceOn(
  message: ExplainedMessage,
  { before, channelExists, provider, now, means, say }: Around,
): string[] {
  const { replay } = means
  const extId = message.channel
  switch (message.state) {
    case 'unrouted':
      return channelExists
        ? [say('There is a channel with the external id {extId} now: {replay}', { extId, replay })]
        : [missingChannel(extId, channelExists, say), say('Then: {replay}', { replay })]
    case 'dead':
    case 'failed':
      return [
        ...repairs(message, { provider, means, say }),
        translated(FUTILE[message.fault ?? ''], say) ??
          (hasUnknownEffect(message)
            ? say('Where it was not: {replay}', { replay })
            : say('Then: {replay}', { replay })),
      ]
    case 'sent':
      return now.getTime() - Date.parse(message.updatedAt) > 3_600_000
        ? [
            say(
              'The phone may be off. Where no message of the channel is ever delivered, its statuses do not arrive: {doctor}',
              { doctor: means.doctor },
            ),
          ]
        : []
    default:
      if (before !== undefined) return [means.look(before._id)]
      return message.waiting?.for === 'circuit_breaker'
        ? [say('Look at the endpoint that the channel or action calls.')]
        : []
  }
}

function missingChannel(extId: string, exists: false | undefined, say: Say): string {
  return exists === false
    ? say('Create a channel with the external id {extId}, or correct the external id of what is posted.', {
        extId,
      })
    : say(
        'Create a channel with the external id {extId} where there is none: this role may not read channels.',
        { extId },
      )
}

/** Advice in the place of a replay, by whose fault it is. */
const FUTILE: Record<string, string> = {
  caller: 'Post a corrected message; this one would fail again.',
  recipient: 'Leave the person alone: it would fail again.',
}

/** Advice for our own codes. */
export const REPAIRS: Record<string, string> = {
  channel_not_configured: "Fill in what the channel's config lacks.",
  unknown_agent: "The channel's handlerUrl names a built-in agent that there is none of: correct it.",
  unknown_handler:
    "The channel's handlerUrl is neither an http(s) URL nor one of native:agents/: correct it.",
  target_refused:
    'The URL leads into a private network, which is refused unless ALLOWED_PRIVATE_TARGETS lists it.',
  opted_out:
    'The person has opted out, of marketing as a rule (docs/consent.md): it is sent once they opt in again.',
  not_reached: 'Look whether the address is right and the other side is up.',
  bad_answer: "The handler's response is not a message: see docs/handlers.md.",
  effect_unknown: 'Look up with the other side whether the function was done: a replay calls it again.',
  bad_args: "The function's arguments do not fit the action's spec.",
}

const lastCode = ({ attempts }: ExplainedMessage) =>
  attempts.findLast(({ outcome }) => outcome !== 'accepted')?.code

const hasUnknownEffect = (message: ExplainedMessage): boolean => lastCode(message) === 'effect_unknown'

function repairs(
  message: ExplainedMessage,
  { provider, means, say }: { provider: string | undefined } & Pick<Around, 'means' | 'say'>,
): string[] {
  const { fault, requestId } = message
  const code = lastCode(message)
  const known = code === undefined ? undefined : (REPAIRS[code] ?? adviceOfProvider(code, provider))
  if (known !== undefined) return [say(known)]
  if (fault === 'us')
    return requestId
      ? [say('Report it with the request id {requestId}.', { requestId })]
      : [say('Report it with the request id of the post.')]
  if (fault === 'provider') return [say('Wait until the other side works again.')]
  const { check, doctor } = means
  return fault === 'channel'
    ? [say("Correct the channel's configuration ({check}, {doctor}).", { check, doctor })]
    : []
}

/** A code is looked up with all providers where that of the channel is not known. */
function adviceOfProvider(code: string, name: string | undefined): string | undefined {
  const named = providerNamed(name)
  const providers = named === undefined ? allProviders() : [named]
  return providers.map(({ outbound }) => outbound.advice?.[code]).find((text) => text !== undefined)
}

/** A duration in milliseconds, in the largest unit that it has one of. */
export function durationText(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ]
  const [size, unit] = units.find(([size]) => ms >= size) ?? [1, 'ms']
  return `${Math.round(ms / size)} ${unit}`
}
