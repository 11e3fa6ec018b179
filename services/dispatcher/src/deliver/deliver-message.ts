import { isUnavailable } from '@parley/shared/unavailable'
import { createSendSlots } from '../channels/send-rate-limit/send-rate.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { decide } from './decide.ts'
import { type DeliverOptions, MessageRun } from './message-run.ts'
import { perform } from './perform.ts'
import { settleCrash } from './settle-attempt.ts'
import { type Calling, type RunResult, resultForThread } from './thread-run.ts'
import { correctDue } from './wait.ts'
import { type LeasedMessages, Superseded } from './written-message.ts'

/** Delivers one message as far as it gets while its lease is valid. Waits for others by `calling`. Never rejects. */
export type DeliverMessage = (
  record: MessageRecord,
  leased: LeasedMessages,
  calling: Calling,
) => Promise<RunResult>

const TROUBLE_PAUSE_MS = 1_000

/** Makes the function that delivers a message, step by step, until it waits or has ended. */
export function createDeliverMessage(options: DeliverOptions): DeliverMessage {
  const slots = createSendSlots()
  return async (record, leased, calling) => {
    const run = new MessageRun({ record, leased, calling, options, slots })
    try {
      const result = await deliver(run).finally(() => run.close())
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
  for (;;) {
    const result = await perform(run, decide(run.record, run.facts))
    if (result.kind !== 'next') return result
  }
}
