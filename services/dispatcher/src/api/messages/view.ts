import { defined } from '@parley/shared/defined'
import { jsonOrUndefined, parseJson } from '@parley/shared/parse-json'
import type { MessageRecord, Send } from '../../message/message-record.ts'
import type { Turn } from '../../message/turn.ts'

/** A message in a list: where it stands, without its contents. */
export function summaryOf(record: MessageRecord): object {
  return {
    _id: record._id,
    channel: record.channel,
    ...defined({ channelId: record.channelId }),
    thread: record.thread,
    ...defined({ phone: record.phone }),
    source: record.source,
    state: record.state,
    ...(record.reason === undefined ? {} : { reason: record.reason, fault: record.fault ?? null }),
    ...defined({ due: record.due, waitingFor: record.waitingFor, gatheredInto: record.gatheredInto }),
    receivedAt: record.receivedAt,
    updatedAt: record.updatedAt,
  }
}

/** A message with all that happened to it: what came in, the answer, its timeline, sends and attempts. */
export function detailOf(record: MessageRecord): object {
  return {
    ...summaryOf(record),
    requestId: record.requestId ?? null,
    message: parseJson(record.body),
    ...defined({ transcript: record.transcript }),
    ...(record.answer === undefined ? {} : { answer: parseJson(record.answer) }),
    timeline: record.timeline,
    sends: record.sends.filter(({ content }) => content.kind !== 'submit'),
    ...submissionOf(record.sends),
    attempts: record.attempts,
    ...defined({ turns: record.turns?.map(turnOf) }),
  }
}

/** The arguments as JSON, where the model wrote JSON. */
export function turnOf({ calls, ...turn }: Turn): object {
  const shown = calls.map((call) => ({ ...call, args: jsonOrUndefined(call.args) ?? call.args }))
  return { ...turn, calls: shown }
}

/** What was submitted is in the answer; here is whether it has been handed over. */
function submissionOf(sends: Send[]): { submit?: { id: string; state: 'pending' | 'submitted' } } {
  const send = sends.find(({ content }) => content.kind === 'submit')
  if (send === undefined) return {}
  return { submit: { id: send.id, state: send.state === 'pending' ? 'pending' : 'submitted' } }
}
