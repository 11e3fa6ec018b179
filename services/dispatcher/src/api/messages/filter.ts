import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import { parameterError } from '@parley/shared/list-query'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { namesOfThread } from '../../conversations/joined-threads.ts'
import { phoneAddress, phoneDigits } from '../../message/addresses.ts'
import {
  FAULTS,
  MESSAGE_STATES,
  type MessageRecord,
  type MessageState,
} from '../../message/message-record.ts'
import { userName } from '../../message/person-names.ts'
import type { Collections } from '../../store/collections.ts'

/** One component of the OpenAPI document, so that generators make one type of it. */
export const messageState = z.enum(MESSAGE_STATES).meta({ id: 'MessageState' })

/** One state, or several; in a query they are separated by commas. */
const states = z.preprocess(
  (given) =>
    typeof given === 'string' && given.includes(',') ? given.split(',', MESSAGE_STATES.length + 1) : given,
  z.union([messageState, z.array(messageState).min(1).max(MESSAGE_STATES.length)]),
)

/** The fields that messages can be picked by. */
export const messageFilter = {
  state: states.optional().describe('Where they stand: one state, or several, separated by commas'),
  status: states.optional().describe('Another name for `state`; 422 where both are given and differ'),
  channel: z.string().max(1_024).optional().describe('The external id that they name'),
  thread: z.string().max(1_024).optional().describe('The thread they belong to'),
  phone: z
    .string()
    .max(64)
    .refine((text) => phoneDigits(text) !== undefined, 'is not a phone number')
    .optional()
    .describe("The recipient's number, however it is written"),
  user: z
    .string()
    .max(256)
    .refine((text) => userName(text) !== '', 'is empty')
    .optional()
    .describe('Name, e-mail address or id at the provider, in upper or lower case'),
  providerId: z.string().min(1).max(1_024).optional().describe("The provider's id of one of its sends"),
  requestId: z.string().min(1).max(1_024).optional().describe('The request that they came with'),
  fault: z.enum(FAULTS).optional().describe('Whose fault it is that they were given up'),
  from: z.iso.datetime({ offset: true }).optional().describe('Received then or later'),
  to: z.iso.datetime({ offset: true }).optional().describe('Received before'),
}

/**
 * The whole query for messages of a phone number, where one was asked for, in either form in which it is stored: the
 * database takes the index of each form only where nothing stands around the two.
 */
export function ofPhone(
  asked: { phone?: string | undefined },
  filter: mongo.Filter<MessageRecord>,
): mongo.Filter<MessageRecord> {
  const phone = phoneDigits(asked.phone)
  if (phone === undefined) return filter
  return { $or: [{ $and: [{ addresses: phoneAddress(phone) }, filter] }, { $and: [{ phone }, filter] }] }
}

/** The messages of a thread, where one was asked for, by whichever of its names. */
export async function ofThreadNamed(
  threads: Collections['threads'],
  { workspace, thread }: { workspace: number; thread: string | undefined },
): Promise<mongo.Filter<MessageRecord>> {
  if (thread === undefined) return {}
  return { thread: { $in: await namesOfThread(threads, { workspace, extId: thread }) } }
}

/** The database's filter for what was asked, but for state, phone and thread; `from` is included, `to` is not. */
export function filterOf(asked: z.output<z.ZodObject<typeof messageFilter>>): mongo.Filter<MessageRecord> {
  const { channel, providerId, requestId, fault, from, to } = asked
  const names = asked.user === undefined ? undefined : userName(asked.user)
  return {
    ...defined({ channel, names, requestId, fault, 'sends.providerId': providerId }),
    $and: [
      from === undefined ? {} : { receivedAt: { $gte: new Date(from) } },
      to === undefined ? {} : { receivedAt: { $lt: new Date(to) } },
    ],
  }
}

/** True if a given filter other than the state has an index; if not, all states have to be named. */
export function isIndexed(asked: z.output<z.ZodObject<typeof messageFilter>>): boolean {
  const { channel, thread, phone, providerId, requestId, fault } = asked
  return [channel, thread, phone, providerId, requestId, fault].some((one) => one !== undefined)
}

/** The states that were asked for, by their name or by `status`. Throws `validation_failed` where the two differ. */
export function statesIn(
  asked: z.output<z.ZodObject<typeof messageFilter>>,
): readonly MessageState[] | undefined {
  const [state, status] = [asked.state, asked.status].map(
    (given) => given && [...new Set([given].flat())].sort(),
  )
  if (state !== undefined && status !== undefined && String(state) !== String(status))
    throw parameterError('status', 'is another name for state, which says something else', 'contradiction')
  return state ?? status
}

/** The messages of the caller's workspace that its role lets it read or write. Throws `forbidden` for none. */
export async function visibleTo(
  res: { locals: Record<string, unknown> },
  options: { authorizer: Authorizer; access: 'read' | 'write' },
): Promise<mongo.Filter<MessageRecord>> {
  const caller = callerOf(res)
  const decision = await options.authorizer.require(caller, 'messages', options.access)
  const own = { workspace: caller.workspace._id }
  return decision.kind === 'some' ? { $and: [own, decision.filter] } : own
}

/** Selects those that the caller may both read and write: whoever may only post must not reach those of others. */
export async function readableAndWritable(
  res: { locals: Record<string, unknown> },
  authorizer: Authorizer,
): Promise<mongo.Filter<MessageRecord>> {
  return {
    $and: [
      await visibleTo(res, { authorizer, access: 'read' }),
      await visibleTo(res, { authorizer, access: 'write' }),
    ],
  }
}
