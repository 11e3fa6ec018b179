import { jsonObject } from '@parley/shared/json-object'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Turn } from '../../message/turn.ts'
import { withoutThoughts } from '../model/thoughts.ts'

/**
 * What the person is told before a turn hands the thread over: what the model gave for that, else what the channel says
 * where the turn has no text. Empty where it hands nothing over.
 */
export function handOverText(
  { text, calls }: Pick<Turn, 'text' | 'calls'>,
  { handOffMessage }: { handOffMessage: string },
): string {
  const call = calls.find(({ tool }) => tool === 'handOff')
  if (call === undefined) return ''
  const { reason, message } = jsonObject.safeParse(jsonOrUndefined(call.args)).data ?? {}
  if (typeof reason !== 'string') return ''
  const own = typeof message === 'string' ? withoutThoughts(message).trim() : ''
  return own === '' && text.trim() === '' ? handOffMessage : own
}
