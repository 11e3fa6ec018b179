import { defined } from '@parley/shared/defined'
import type { MessageRecord } from '../../message/message-record.ts'
import { ranAgainAt } from '../../message/progress.ts'
import { isPersonal } from '../../message/spoken-text.ts'
import { EMPTY_RESPONSE } from '../model/model-failure.ts'
import type { ModelResult } from '../model-client.ts'

/** The code of one that has no end. */
const CUT_OFF = 'cut_off'

/**
 * Where a sentence ends: not after the number of an entry of a list, nor where the text ends after a digit, of whose number
 * more may have come.
 */
const SENTENCE_END =
  /(?<!^\s{0,9}\d{1,3})[.!?…]["'”’)\]*_]{0,4}(?=\s)|(?<!\d)[.!?…]["'”’)\]*_]{0,4}(?![\s\S])|[。！？]|\n/gm

/** True if the person was sent something in this run of a message, by text or by a tool. */
export function hasSpoken(record: Pick<MessageRecord, 'turns' | 'sends' | 'timeline'>): boolean {
  const since = ranAgainAt(record)
  return record.sends.some((send) => {
    const turn = send.of === undefined ? undefined : record.turns?.[send.of.turn]
    return turn !== undefined && turn.at.getTime() >= since && send.state !== 'failed' && isPersonal(send)
  })
}

/**
 * What a model brought, unless the message would end with it and leave the person without an answer: an empty one, where
 * nothing was said before, and one that was cut off, of which the last model's ends at its last sentence.
 */
export function unlessSilent(
  result: ModelResult,
  { isSpoken, isLast }: { isSpoken: boolean; isLast: boolean },
): ModelResult {
  if (result.kind !== 'answered' || result.turn.calls.length > 0) return result
  const { turn } = result
  const isEmpty = turn.text.trim() === ''
  if (isEmpty && isSpoken) return result
  if (turn.finishReason === 'length') {
    const text = isLast ? toLastSentence(turn.text) : ''
    const reason = 'The answer of the model was cut off by the limit of its tokens.'
    return text === '' ? discarded(result, CUT_OFF, reason) : { ...result, turn: { ...turn, text } }
  }
  return isEmpty ? discarded(result, EMPTY_RESPONSE, 'The model answered nothing.') : result
}

function discarded(
  { turn: { inputTokens, outputTokens, cachedTokens } }: Extract<ModelResult, { kind: 'answered' }>,
  code: string,
  reason: string,
): ModelResult {
  return { kind: 'refused', code, reason, inputTokens, outputTokens, ...defined({ cachedTokens }) }
}

function toLastSentence(text: string): string {
  const last = [...text.trimEnd().matchAll(SENTENCE_END)].at(-1)
  return last === undefined ? '' : text.slice(0, last.index + last[0].length).trimEnd()
}
