import type { WebhookMessage } from '@parley/shared/message'
import { ownAddresses } from '@parley/shared/providers/address'
import type { turnSettingsOf } from '../agents/turns/bounds.ts'
import type { Channel } from '../channels/channels.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { GROUP_MESSAGE, HANDLER_IS_PERSON, type MessageEnd, ranAgainAt } from '../message/progress.ts'
import { receivedContent } from '../message/received-content.ts'
import type { Facts, Step } from './step.ts'

/** A message, and what is known of it. */
export interface Unrouted {
  record: MessageRecord
  facts: Facts
}

/** A message whose channel is known. */
export interface Known extends Unrouted {
  channel: Channel
  message: WebhookMessage
  settings: ReturnType<typeof turnSettingsOf>
}

/** A rule says what follows where it applies, and nothing where it does not. */
export interface Rule<M = Known> {
  when: string
  next: string
  step(of: M): Step | undefined
}

export const end = (end: MessageEnd, answer?: string): Step => ({ kind: 'end', end, answer })

/** Ends it whatever statuses say of its sends meanwhile. */
export const stop = (end: MessageEnd): Step => ({ kind: 'end', end, isMerged: true })

/** It was written in a group, and an answer would go to the one who wrote it, privately. */
export const GROUP: Rule = {
  when: 'it was written in a group whose address is not known',
  next: 'end: done, group_message',
  step: ({ message, record }) => {
    const isOfGroup = receivedContent(message, record.source)?.isOfGroup === true
    return isOfGroup && ownAddresses(message.user).length === 0 ? end(GROUP_MESSAGE) : undefined
  },
}

/**
 * Nobody marked a message that had ended when they took its thread over; from now on whoever does marks it. What carries
 * its caller's own answer is sent whoever has the thread.
 */
export function takenWhileEnded(applies: (known: Known) => boolean): Rule[] {
  const runsAgain = (known: Known): boolean =>
    known.record.inbound === true && ranAgainAt(known.record) > 0 && applies(known)
  return [
    {
      when: 'it is run again, and who has its thread is not known',
      next: 'look up who has the thread',
      step: (known) =>
        known.facts.isWithPerson === undefined && runsAgain(known) ? { kind: 'lookUpPerson' } : undefined,
    },
    {
      when: 'it is run again, and a person has its thread',
      next: 'end: done, handler_is_person',
      step: (known) => (known.facts.isWithPerson && runsAgain(known) ? stop(HANDLER_IS_PERSON) : undefined),
    },
  ]
}
