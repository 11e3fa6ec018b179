import { isUnavailable } from '@parley/shared/unavailable'
import { timeIsOver, turnSettingsOf } from '../agents/turns/bounds.ts'
import { createSendSlots } from '../channels/send-rate-limit/send-rate.ts'
import type { MessageRecord, Send } from '../message/message-record.ts'
import { endOf, endOfSends, isResumable, type MessageEnd, nextToSend } from '../message/progress.ts'
import { createMakeCall } from './make-call.ts'
import { type DeliverOptions, MessageRun } from './message-run.ts'
import { type AgentMessage, giveUp } from './model-call.ts'
import { nextTurn } from './next-turn.ts'
import { type Planned, type Prepared, prepare } from './prepare.ts'
import { sendNext } from './send.ts'
import {
  type StepResult,
  settleCrash,
  settleEnd,
  settleFailed,
  settleResumed,
  settleTakenOver,
} from './settle-attempt.ts'
import { type Calling, type RunResult, resultForThread } from './thread-run.ts'
import { correctDue, waitForEndpoint, waitUntilDue } from './wait.ts'
import { type LeasedMessages, Superseded } from './written-message.ts'

/** Delivers one message as far as it gets while its lease is valid. Waits for others by `calling`. Never rejects. */
export type DeliverMessage = (
  record: MessageRecord,
  leased: LeasedMessages,
  calling: Calling,
) => Promise<RunResult>

const TROUBLE_PAUSE_MS = 1_000

/** Makes the function that delivers a message: prepare, then send and settle, one send after the other. */
export function createDeliverMessage(options: DeliverOptions): DeliverMessage {
  const slots = createSendSlots()
  return async (record, leased, calling) => {
    const run = new MessageRun({ record, leased, calling, options, slots })
    try {
      const result = await deliver(run)
      return resultForThread(record, run.record.lane, result)
    } catch (error) {
      const again = { kind: 'reload', at: options.now() + TROUBLE_PAUSE_MS, for: 'server' } as const
      if (error instanceof Superseded || isUnavailable(error))
        return resultForThread(record, run.record.lane, again)
      options.log.error({ err: error, messageId: record._id }, 'message could not be run')
      const result = await settleCrash(run).catch(() => again)
      return resultForThread(record, run.record.lane, result)
    }
  }
}

async function deliver(run: MessageRun): Promise<RunResult> {
  await correctDue(run)
  const pause = waitUntilDue(run)
  if (pause !== undefined) return pause
  const prepared = await prepare(run)
  if ('channel' in prepared) run.isPassable = prepared.channel.config.ordered === false
  switch (prepared.kind) {
    case 'later':
      return waitForConfiguration(run, prepared)
    case 'refused':
      return waitForEndpoint(run, prepared.admission)
    case 'busy':
      return { kind: 'pending', record: run.record, settled: prepared.room, for: 'model' }
    case 'end':
      return settleEnd(run, prepared.end, prepared.answer)
    case 'failed':
      await storeHandled(run, prepared.planned)
      return settleFailed(run, prepared)
    case 'ready':
      return sendAll(run, prepared)
    case 'agent':
      return workInTurns(run, prepared)
  }
}

/** What a handler answered is stored while something else is waited for, so that it is not asked again. */
async function storeHandled(run: MessageRun, planned: Planned | undefined): Promise<void> {
  if (planned?.answer === undefined) return
  run.take(planned)
  await run.storeAnswer()
}

async function waitForConfiguration(
  run: MessageRun,
  { at, planned }: Extract<Prepared, { kind: 'later' }>,
): Promise<RunResult> {
  await storeHandled(run, planned)
  return { kind: 'wait', record: run.record, until: at, for: 'configuration' }
}

/** Makes one send after the other, until one of them waits or the message has reached its end. */
async function sendAll(run: MessageRun, planned: Planned): Promise<RunResult> {
  run.take(planned)
  for (;;) {
    if (run.record.takenOver !== undefined) return settleTakenOver(run)
    const { sends } = run.record
    const index = nextToSend(sends)
    const send = index === undefined ? undefined : sends[index]
    if (index !== undefined && (await run.wasTakenWhileEnded())) return settleTakenOver(run)
    const result =
      index === undefined || send === undefined
        ? await endOrResume(run, endOfSends(sends))
        : await sendNext(run, planned, { index, send })
    if (result.kind !== 'next') return result
  }
}

/**
 * Works a message in turns: the model is asked and what it answers is stored; its text is sent and its calls are made,
 * each with its result stored; then it is asked again, until it answers without calls. A message goes on where the
 * store says that it stands, whoever worked it before.
 */
async function workInTurns(run: MessageRun, found: AgentMessage): Promise<RunResult> {
  const { makeCall, close } = createMakeCall(run, found)
  const step = async (): Promise<StepResult> => {
    const { record } = run
    // What a person has taken over sends nothing more; a turn that the model is at is stored.
    if (record.takenOver !== undefined) return nextTurn(run, found)
    const index = nextToSend(record.sends)
    const send = index === undefined ? undefined : record.sends[index]
    if (index === undefined || send === undefined) return endOrAsk(run, found)
    // A hand-over tells of the person who has the thread by then.
    if (!isHandOff(send) && (await run.wasTakenWhileEnded())) return settleTakenOver(run)
    if (send.content.kind !== 'tool') return sendNext(run, { ...found, sends: record.sends }, { index, send })
    // Once the person has the thread, the agent says nothing more, however long telling the channel's system takes.
    const isOpen = send.state === 'pending' && record.ending === undefined && record.handedOffAt === undefined
    const late = isOpen ? tooLate(run, found) : undefined
    return late === undefined ? makeCall({ index, send }) : giveUp(run, found, { reason: late })
  }
  try {
    for (;;) {
      const result = await step()
      if (result.kind !== 'next') return result
    }
  } finally {
    close()
  }
}

async function endOrAsk(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const end = run.record.turns === undefined ? undefined : endOf(run.record)
  return end === undefined ? nextTurn(run, found) : endOrResume(run, end)
}

function endOrResume(run: MessageRun, end: MessageEnd): Promise<StepResult> {
  return isResumable(run.record) ? settleResumed(run) : settleEnd(run, end)
}

const isHandOff = ({ content }: Send): boolean => content.kind === 'tool' && content.name === 'handOff'

function tooLate({ record, options }: MessageRun, { channel }: AgentMessage): string | undefined {
  return timeIsOver(record, { settings: turnSettingsOf(channel.config), now: options.now() })
}
