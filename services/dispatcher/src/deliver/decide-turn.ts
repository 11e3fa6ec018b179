import type { ModelResult } from '../agents/model-client.ts'
import { boundReached, deadlineOf, MODEL_STEP, timeIsOver } from '../agents/turns/bounds.ts'
import type { ModelCallState } from '../agents/turns/model-calls.ts'
import { afterRefusal, nextChoice, retryOf } from '../agents/turns/model-retry.ts'
import { BUDGET_PENDING, BUDGET_SPENT } from '../agents/usage/usage.ts'
import { mediaIn } from '../channels/media/find-media.ts'
import type { Attempt, MessageRecord, Send } from '../message/message-record.ts'
import {
  attemptOf,
  endOf,
  HANDLER_IS_PERSON,
  hasTurns,
  isResumable,
  nextToSend,
  ranAgainAt,
  TAKEN_BACK,
  withAttempt,
} from '../message/progress.ts'
import { end, GROUP, type Known, type Rule, stop, takenWhileEnded } from './rule.ts'
import type { EndedCall, Step } from './step.ts'

/** Each run of a message, each of its turns and each text that its writer gives it before has a call of its own. */
export function callKeyOf({ _id, order, turns = [], changed }: Called): string {
  const text = turns.length > 0 || changed === undefined ? '' : `/${changed.by}`
  return `${_id}/${order}/${turns.length}${text}`
}

type Called = Pick<MessageRecord, '_id' | 'order' | 'turns'> & {
  changed?: MessageRecord['changed'] | undefined
}

export const audioKeyOf = (record: Called): string => `${callKeyOf(record)}/audio`

/** A message that an agent works: the model is asked, its text sent and its calls made, until it answers without calls. */
export const TURN_RULES: readonly Rule[] = [
  GROUP,
  {
    when: 'the model was asked',
    next: 'wait for it; store its turn; or another try, the next model, or the fallback message',
    step: (known) => ofCall(known, known.facts.turnCall, { keyOf: callKeyOf, isAudio: false }),
  },
  {
    when: 'a person has taken its thread over',
    next: 'end: done, handler_is_person',
    step: ({ record, facts }) =>
      record.takenOver !== undefined && facts.audioCall === undefined ? stop(HANDLER_IS_PERSON) : undefined,
  },
  ...takenWhileEnded(({ record }) => {
    const send = sendOf(record)
    // A hand-over tells of the person who has the thread by then, and one that gave up has handed it over.
    return send !== undefined && !isHandOff(send) && record.ending === undefined
  }),
  {
    when: 'the model says something',
    next: 'send it',
    step: ({ record }) => {
      const send = sendOf(record)
      return send === undefined || send.content.kind === 'tool'
        ? undefined
        : { kind: 'send', index: record.sends.indexOf(send) }
    },
  },
  {
    when: 'the model calls a tool, and its time is over',
    next: 'end with the fallback message',
    step: ({ record, facts: { now }, settings }) => {
      const send = sendOf(record)
      // Once the person has the thread, the agent says nothing more, however long telling the channel's system takes.
      const isOpen = send?.state === 'pending' && !record.ending && !record.handedOffAt
      const reason = isOpen ? timeIsOver(record, { settings, now }) : undefined
      return reason === undefined ? undefined : { kind: 'giveUp', reason }
    },
  },
  {
    when: 'the model calls a tool',
    next: 'call it, and beside it those of the same turn that are independent of it',
    step: ({ record }) => {
      const send = sendOf(record)
      return send === undefined ? undefined : { kind: 'call', index: record.sends.indexOf(send) }
    },
  },
  {
    when: 'its turns are over, and something failed later',
    next: 'send that again when it is due',
    step: ({ record }) => (isOver(record) && isResumable(record) ? { kind: 'resume' } : undefined),
  },
  {
    when: 'its turns are over',
    next: 'end as was decided, or as the sends say',
    step: ({ record }) => {
      const ending = isOver(record) ? endOf(record) : undefined
      return ending === undefined ? undefined : end(ending)
    },
  },
  {
    when: 'who has its thread is not known',
    next: 'look up who has the thread',
    step: ({ facts: { audioCall, isWithPerson } }) =>
      audioCall === undefined && isWithPerson === undefined ? { kind: 'lookUpPerson' } : undefined,
  },
  {
    when: 'a person has its thread',
    next: 'end: done, handler_is_person',
    step: ({ facts: { audioCall, isWithPerson } }) =>
      audioCall === undefined && isWithPerson ? stop(HANDLER_IS_PERSON) : undefined,
  },
  {
    when: 'it has had all its turns, or its time is over',
    next: 'end with the fallback message',
    step: ({ record, facts: { now }, settings }) => {
      const reason = boundReached(record, { settings, now })
      return reason === undefined ? undefined : { kind: 'giveUp', reason }
    },
  },
  {
    when: 'it may be one of several that get one answer',
    next: 'look at those behind it in its thread',
    step: (known) =>
      mayBeGathered(known) && known.facts.gathering === undefined ? { kind: 'lookUpGathering' } : undefined,
  },
  {
    when: 'further ones may come',
    next: 'wait for them',
    step: ({ facts: { gathering } }) =>
      gathering?.kind === 'wait' ? { kind: 'wait', until: gathering.until, for: 'gathering' } : undefined,
  },
  {
    when: 'its writer took it back before anybody was asked',
    next: 'end: done, deleted',
    step: ({ record, facts: { gathering } }) => {
      const isAlone = gathering === undefined || (gathering.kind === 'work' && gathering.isAlone)
      return record.changed?.isDeleted && !hasTurns(record) && isAlone ? stop(TAKEN_BACK) : undefined
    },
  },
  {
    when: 'it has audio that was not heard',
    next: 'transcribe it, where its assistant can; store the transcript; or as with the model',
    step: (known) => (hasUnheard(known) ? ofAudio(known) : undefined),
  },
  {
    when: 'a later message gets the answer',
    next: 'end: done, gathered into that one',
    step: ({ facts: { gathering, audioCall }, record }) =>
      gathering?.kind === 'gathered'
        ? {
            ...stop({ state: 'done', gatheredInto: gathering.into }),
            takes: audioCall && audioKeyOf(record),
          }
        : undefined,
  },
  {
    when: 'there is no assistant or no model, and the message is new',
    next: 'wait for configuration',
    step: ({ record, facts: { agent, now, times } }) =>
      agent?.kind === 'missing' && !hasTurns(record) && now - record.receivedAt.getTime() < times.lookUpFor
        ? { kind: 'wait', until: now + times.lookUpAgain, for: 'configuration' }
        : undefined,
  },
  {
    when: 'there is no assistant or no model',
    next: 'end with the fallback message',
    step: ({ facts: { agent } }) =>
      agent?.kind === 'missing' ? { kind: 'giveUp', reason: agent.reason } : undefined,
  },
  {
    when: 'a budget is spent',
    next: 'end with the fallback message, once a day for a person',
    step: (known) => (known.facts.budget === undefined ? undefined : ofBudget(known, known.facts.budget)),
  },
  { when: 'nothing else is left to do', next: 'ask the model', step: () => ({ kind: 'askModel' }) },
]

function sendOf({ sends, takenOver }: MessageRecord): Send | undefined {
  const index = takenOver === undefined ? nextToSend(sends) : undefined
  return index === undefined ? undefined : sends[index]
}

const isHandOff = ({ content }: Send): boolean => content.kind === 'tool' && content.name === 'handOff'

const isOver = (record: MessageRecord): boolean => record.turns !== undefined && endOf(record) !== undefined

const mayBeGathered = ({ record, settings }: Known): boolean =>
  !hasTurns(record) && settings.gatherMs > 0 && record.lane === undefined

/** True if audio is to be transcribed: a gathered message's at once where possible, and not again after a failure. */
function hasUnheard({ record, message, facts: { gathering, audioCall } }: Known): boolean {
  if (hasTurns(record) || record.transcript !== undefined) return false
  if (mediaIn(message, record.source)?.type !== 'audio') return false
  const isFailed = audioCall?.kind === 'ended' && audioCall.result.kind !== 'answered'
  return gathering?.kind !== 'gathered' || !isFailed
}

function ofAudio(known: Known): Step | undefined {
  const { audioCall, agent } = known.facts
  if (audioCall !== undefined) return ofCall(known, audioCall, { keyOf: audioKeyOf, isAudio: true })
  if (agent === undefined) return { kind: 'loadAgent' }
  return agent.kind === 'loaded' && agent.canHear ? { kind: 'transcribe' } : undefined
}

/** Returns the step after a call of a model; undefined where none was started. */
function ofCall(
  known: Known,
  call: ModelCallState | undefined,
  { keyOf, isAudio }: { keyOf(record: MessageRecord): string; isAudio: boolean },
): Step | undefined {
  if (call === undefined) return undefined
  if (call.kind === 'asking') return { kind: 'waitForModel', settled: call.settled }
  const key = keyOf(known.record)
  const { result } = call
  if (result.kind === 'answered') {
    const { turn } = result
    return {
      ...(isAudio ? { kind: 'storeTranscript', text: turn.text } : { kind: 'storeTurn', turn }),
      takes: key,
    }
  }
  const step = ofFailedCall(known, call, result)
  return step.kind === 'lookUpStopped' ? step : { ...step, takes: key }
}

type FailedResult = Exclude<ModelResult, { kind: 'answered' }>

function ofFailedCall(known: Known, call: EndedCall, result: FailedResult): Step {
  const { now } = known.facts
  if (result.kind === 'refused')
    return result.code === BUDGET_SPENT ? ofBudget(known, result.reason) : ofRefusal(known, call, result)
  // It is no try: what calls under way hold is given back, or spent, when they end.
  if (result.code === BUDGET_PENDING)
    return { kind: 'wait', until: now + (result.retryAfterSeconds ?? 0) * 1_000, for: 'model' }
  return ofFailure(known, call, result)
}

/** A budget is spent: the person is told so by the channel's fallback message, where there is one, once a day. */
function ofBudget({ facts: { isFirstStopped, now }, settings }: Known, reason: string): Step {
  const hasFarewell = settings.fallbackMessage !== ''
  if (hasFarewell && isFirstStopped === undefined) return { kind: 'lookUpStopped' }
  const outcome = { kind: 'permanent' as const, code: BUDGET_SPENT, fault: 'channel' as const, reason }
  const attempt = attemptOf({ step: MODEL_STEP, outcome, at: now, ms: 0 })
  return { kind: 'giveUp', reason, attempt, isSilent: !isFirstStopped }
}

/** Another try, of this model or the next; where there is none in time, a bound is met. */
function ofFailure(
  { record, facts: { now }, settings: { turnMs, messageMs } }: Known,
  call: EndedCall,
  result: Extract<FailedResult, { kind: 'retryable' }>,
): Step {
  const attempt = attemptAt(now, call, result)
  const deadline = deadlineOf(withTry(record, attempt), { messageMs, now })
  const { tries, delay } = call.isTimedOut
    ? { tries: nextChoice(record.tries, call.choices), delay: 0 }
    : retryOf({ ...result, tries: record.tries, choices: call.choices })
  const due = now + delay
  if (due >= deadline) {
    const reason = `${result.reason} Given up after ${messageMs / 1_000} seconds (messageTimeoutSeconds).`
    return { kind: 'giveUp', reason, attempt }
  }
  if (tries === undefined) {
    const reason = `The model did not answer within ${turnMs / 1_000} seconds (turnTimeoutSeconds).`
    return { kind: 'giveUp', reason, attempt }
  }
  return { kind: 'retryModel', attempt, tries, due: delay === 0 ? undefined : due }
}

/** Returns the step after a refusal: a request that this model refuses may work on another. */
function ofRefusal(
  { record, facts: { now }, settings: { messageMs } }: Known,
  call: EndedCall,
  result: Extract<FailedResult, { kind: 'refused' }>,
): Step {
  const attempt = attemptAt(now, call, result)
  const { code, reason } = result
  const mayMend = hasRetryable(record)
  const next = afterRefusal({ tries: record.tries, choices: call.choices, code, mayMend })
  const due = now + (next?.delay ?? 0)
  if (next === undefined || due >= deadlineOf(withTry(record, attempt), { messageMs, now }))
    return { kind: 'giveUp', reason, attempt }
  return { kind: 'retryModel', attempt, tries: next.tries, due: next.delay === 0 ? undefined : due }
}

/** True if a model that was asked for this turn failed with an error that may pass. */
function hasRetryable({ attempts, turns = [], ...record }: MessageRecord): boolean {
  const since = Math.max(ranAgainAt(record), turns.at(-1)?.at.getTime() ?? 0)
  return attempts.some(
    ({ step, outcome, at }) => step === MODEL_STEP && outcome === 'retryable' && at.getTime() >= since,
  )
}

export function withTry(record: MessageRecord, attempt: Attempt | undefined): MessageRecord {
  return attempt === undefined ? record : { ...record, attempts: withAttempt(record.attempts, attempt) }
}

function attemptAt(now: number, { ms }: EndedCall, { kind, code, reason }: FailedResult): Attempt {
  const outcome = {
    kind: kind === 'refused' ? ('permanent' as const) : kind,
    code,
    reason,
    error: reason,
    fault: 'channel' as const,
  }
  return attemptOf({ step: MODEL_STEP, outcome, at: now, ms })
}
