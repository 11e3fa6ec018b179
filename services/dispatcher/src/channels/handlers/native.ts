import type { WebhookMessage } from '@parley/shared/message'
import type { Answer } from '../../message/plan.ts'

/** A built-in agent: makes the answer to a message. */
type NativeAgent = (message: WebhookMessage) => Promise<Answer>

/** Answers with the input itself. */
const echo: NativeAgent = async (message) => ({ message: message.input ?? '' })

/** The built-in agents by the type that `native:agents/<type>` names. */
export const nativeAgents: ReadonlyMap<string, NativeAgent> = new Map([['echo', echo]])
