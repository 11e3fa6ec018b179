import { kindOf } from '../agents/kinds/kinds.ts'
import { turnSettingsOf } from '../agents/turns/bounds.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { hasAnswer, planSends } from '../message/plan.ts'
import { endOfSends, HANDLER_IS_PERSON, isResumable, nextToSend, TAKEN_BACK } from '../message/progress.ts'
import { wrongText } from '../message/said.ts'
import { isNew, isScheduled, sendAtOf } from '../message/send-at.ts'
import { TURN_RULES } from './decide-turn.ts'
import { end, GROUP, type Known, type Rule, stop, takenWhileEnded, type Unrouted } from './rule.ts'
import type { Facts, Planned, Step } from './step.ts'

/** Returns the next step of a message: the first rule that applies decides. Pure. */
export function decide(record: MessageRecord, facts: Facts): Step {
  const { channel, message } = facts
  const pause =
    SCHEDULED.step({ record, facts }) ?? DUE.step({ record, facts }) ?? BEGIN.step({ record, facts })
  if (pause !== undefined) return pause
  if (!channel) return firstOf(UNROUTED, { record, facts })
  const known = { record, facts, channel, message, settings: turnSettingsOf(channel.config) }
  return firstOf(isForTurns(known) ? TURN_RULES : RESPONSE, known)
}

function firstOf<M>(rules: readonly Rule<M>[], of: M): Step {
  for (const rule of rules) {
    const step = rule.step(of)
    if (step !== undefined) return step
  }
  throw new Error('no rule says what a message does next')
}

/** True if an agent works it in turns of a model. */
function isForTurns({ record, facts, channel, message }: Known): boolean {
  if (!facts.hasAgents) return false
  if (record.turns !== undefined) return true
  return record.state === 'received' && !hasAnswer(message.answer) && kindOf(channel) !== undefined
}

const STATUS_CHECK_MS = 2_000

const SCHEDULED: Rule<Unrouted> = {
  when: 'it is to be sent later, and that is not written',
  next: 'write so; others of its thread pass it',
  step: ({ record, facts: { now, message } }) => {
    const until = isNew(record) ? sendAtOf(record, message) : undefined
    return until !== undefined && until > now ? { kind: 'schedule', until } : undefined
  },
}

const BEGIN: Rule<Unrouted> = {
  when: 'the time has come at which it is to be sent',
  next: 'write so: it can’t be taken back any more',
  step: ({ record, facts: { message } }) => {
    const isDue = isScheduled(record) || (isNew(record) && sendAtOf(record, message) !== undefined)
    return isDue ? { kind: 'begin' } : undefined
  },
}

/** One that waits for a status is looked at again every 2 s, since statuses are written by others. */
const DUE: Rule<Unrouted> = {
  when: 'it is not due yet',
  next: 'wait until it is',
  step: ({ record, facts: { now } }) => {
    const until = record.due?.getTime() ?? 0
    // A message that a person has taken over ends as soon as it is read.
    if (until <= now || record.takenOver !== undefined) return undefined
    const waitsForStatus = record.sends.some(({ state }) => state === 'claimed')
    if (waitsForStatus)
      return { kind: 'readAgain', at: Math.min(until, now + STATUS_CHECK_MS), for: 'status' }
    // It may wait for days: only the store has it meanwhile.
    if (isScheduled(record)) return { kind: 'readAgain', at: until, for: 'schedule' }
    return { kind: 'wait', until, for: record.waitingFor ?? 'retry' }
  },
}

const UNROUTED: readonly Rule<Unrouted>[] = [
  {
    when: 'its channel was not looked up',
    next: 'find the channel',
    step: ({ facts }) => (facts.channel === undefined ? { kind: 'findChannel' } : undefined),
  },
  {
    when: 'the channel is gone, and sends are planned',
    next: 'end: dead, by the channel',
    step: ({ record }) =>
      record.state === 'received'
        ? undefined
        : end({ state: 'dead', reason: 'The channel is gone.', fault: 'channel' }),
  },
  {
    // Configuration itself said so, asked since the message was there; while it can't say so, the message waits.
    when: 'there is no channel',
    next: 'end: unrouted',
    step: () => end({ state: 'unrouted', reason: 'The workspace has no channel with this external id.' }),
  },
]

/** A message that carries its answer, or gets one by a handler. */
const RESPONSE: readonly Rule[] = [
  GROUP,
  {
    when: 'a person has taken its thread over',
    next: 'end: done, handler_is_person',
    step: ({ record }) => (record.takenOver === undefined ? undefined : stop(HANDLER_IS_PERSON)),
  },
  {
    when: 'it needs an answer, and its writer took it back',
    next: 'end: done, deleted',
    step: (known) => (needsHandler(known) && known.record.changed?.isDeleted ? end(TAKEN_BACK) : undefined),
  },
  {
    when: 'it needs an answer, and who has its thread is not known',
    next: 'look up who has the thread',
    step: (known) =>
      needsHandler(known) && known.facts.isWithPerson === undefined ? { kind: 'lookUpPerson' } : undefined,
  },
  {
    when: 'it needs an answer, and a person has its thread',
    next: 'end: done, handler_is_person',
    step: (known) => (needsHandler(known) && known.facts.isWithPerson ? end(HANDLER_IS_PERSON) : undefined),
  },
  {
    when: 'it needs an answer, and nobody was asked',
    next: 'ask the handler',
    step: (known) =>
      needsHandler(known) && known.facts.handled === undefined ? { kind: 'askHandler' } : undefined,
  },
  {
    when: 'the handler may not be called, has no room, or failed',
    next: 'wait, or settle the try',
    step: (known) => (needsHandler(known) ? ofHandlerFailure(known) : undefined),
  },
  {
    when: 'its answer is not planned',
    next: 'plan what is sent, once its functions are checked; end where nothing can or has to be',
    step: (known) => (isPlanned(known) ? undefined : ofResponse(known)),
  },
  {
    when: 'nothing has left, and its functions are not checked or can’t be called',
    next: 'check them; wait for configuration, settle the try, or end',
    step: ({ record, facts, channel, message }) =>
      ofFunctions({ record, facts }, { channel, message, sends: record.sends }),
  },
  {
    when: 'all is sent, and something failed later',
    next: 'send that again when it is due',
    step: ({ record }) =>
      nextToSend(record.sends) === undefined && isResumable(record) ? { kind: 'resume' } : undefined,
  },
  {
    when: 'all is sent',
    next: 'end as the sends say',
    step: ({ record: { sends } }) => (nextToSend(sends) === undefined ? end(endOfSends(sends)) : undefined),
  },
  ...takenWhileEnded(() => true),
  {
    when: 'something is to be sent',
    next: 'send it',
    step: ({ record: { sends } }) => ({ kind: 'send', index: nextToSend(sends) ?? 0 }),
  },
]

const isPlanned = ({ record, facts }: Known): boolean =>
  facts.isPlanned === true || record.state !== 'received'

const needsHandler = (known: Known): boolean => !isPlanned(known) && !hasAnswer(known.message.answer)

function ofHandlerFailure({ facts: { handled } }: Known): Step | undefined {
  if (handled === undefined || handled.kind === 'answer') return undefined
  if (handled.kind === 'wait') return { kind: 'waitForEndpoint', admission: handled }
  if (handled.kind === 'busy') return { kind: 'waitForModel', settled: handled.room }
  const { ms, ...outcome } = handled
  return { kind: 'fail', step: 'handler', outcome, ms }
}

function ofResponse({ record, facts, channel, message: given }: Known): Step {
  const { handled, maxText } = facts
  const isHandled = !hasAnswer(given.answer) && handled?.kind === 'answer'
  const message = isHandled ? { ...given, answer: handled.answer } : given
  const answer = isHandled ? JSON.stringify(handled.answer) : undefined
  const { sends, errors } = planSends(record, message.answer, { channel, maxText })
  const [wrong] = errors
  if (wrong !== undefined) {
    const reason = `${wrongText(wrong, '/answer')}.`
    return end({ state: 'dead', reason, fault: isHandled ? 'channel' : 'caller' }, answer)
  }
  if (sends.length === 0) return end({ state: 'done' }, answer)
  const planned: Planned = { channel, message, sends, ...(answer === undefined ? {} : { answer }) }
  return ofFunctions({ record, facts }, planned) ?? { kind: 'plan', planned }
}

/** While nothing has left, a function that can't be called stops the whole answer from being sent. */
function ofFunctions({ record, facts }: Unrouted, planned: Planned): Step | undefined {
  const { sends, answer } = planned
  const { check, now, times } = facts
  const isBegun = sends.some(({ state }) => state !== 'pending')
  if (isBegun || !sends.some(({ content }) => content.kind === 'function')) return undefined
  if (check === undefined) return { kind: 'checkFunctions', planned }
  if (check.kind === 'fine') return undefined
  const { id, failure, ms } = check
  const isHandled = (answer ?? record.answer) !== undefined
  if (failure.kind !== 'permanent')
    return { kind: 'fail', step: id, outcome: failure, ms, planned: isHandled ? planned : undefined }
  if (failure.code === 'unknown_operation' && now - record.receivedAt.getTime() < times.lookUpFor)
    return {
      kind: 'wait',
      until: now + times.lookUpAgain,
      for: 'configuration',
      planned: isHandled ? planned : undefined,
    }
  // Arguments are the caller's, unless the channel's handler made them up.
  const fault = failure.fault === 'caller' && isHandled ? 'channel' : failure.fault
  return end({ state: 'dead', reason: failure.reason, fault }, answer)
}

/** All rules, as docs/architecture.md lists them. */
export const RULES = {
  any: [SCHEDULED, DUE, BEGIN, ...UNROUTED],
  response: RESPONSE,
  turns: TURN_RULES,
} as const
