import type { Authorizer } from '@parley/shared/authorizer'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import type { MessageRecord } from '../../message/message-record.ts'

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
