import { timeIsOver, turnSettingsOf } from '../agents/turns/bounds.ts'
import type { Send } from '../message/message-record.ts'
import { endOf, nextToSend } from '../message/progress.ts'
import { createMakeCall } from './make-call.ts'
import type { MessageRun } from './message-run.ts'
import { type AgentMessage, giveUp } from './model-call.ts'
import { nextTurn } from './next-turn.ts'
import { sendNext } from './send.ts'
import { type StepResult, settleEnd, settleTakenOver } from './settle-attempt.ts'
import type { RunResult } from './thread-run.ts'

/**
 * Works a message in turns: the model is asked and what it answers is stored; its text is sent and its calls are made,
 * each with its result stored; then it is asked again, until it answers without calls. A message goes on where the
 * store says that it stands, whoever worked it before.
 */
export async function workInTurns(run: MessageRun, found: AgentMessage): Promise<RunResult> {
  const makeCall = createMakeCall(run, found)
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
  for (;;) {
    const result = await step()
    if (result.kind !== 'next') return result
  }
}

async function endOrAsk(run: MessageRun, found: AgentMessage): Promise<StepResult> {
  const end = run.record.turns === undefined ? undefined : endOf(run.record)
  return end === undefined ? nextTurn(run, found) : settleEnd(run, end)
}

const isHandOff = ({ content }: Send): boolean => content.kind === 'tool' && content.name === 'handOff'

function tooLate({ record, options }: MessageRun, { channel }: AgentMessage): string | undefined {
  return timeIsOver(record, { settings: turnSettingsOf(channel.config), now: options.now() })
}
