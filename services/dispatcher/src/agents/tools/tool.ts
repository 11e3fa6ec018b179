import { isDeepStrictEqual } from 'node:util'
import { exactOrUndefined } from '@parley/shared/parse-json'
import { endingAtWord } from '../../message/split-text.ts'
import { MAY_HAVE_RUN, type ToolCall, type ToolResult, type Turn } from '../../message/turn.ts'
import type { ToolOutcome } from '../toolbox.ts'

const REFUSED =
  'The same call was made before, and may have been done: it is not made again. Look up whether it was done, or say that it is not known.'

/** Returns the arguments for a comparison; arguments that are no JSON are compared as text. */
const argumentsOf = ({ args }: Named): unknown => exactOrUndefined(args) ?? args

const MAX_RESULT_BYTES = 16 * 1024

/** Returns the result of a call for a model: at most 16 KiB of the text. */
export function resultOf(state: ToolResult['state'], text: string, status?: number): ToolResult {
  const bytes = Buffer.from(text)
  const cut = bytes.length > MAX_RESULT_BYTES
  return {
    state,
    ...(status === undefined ? {} : { status }),
    text: cut ? endingAtWord(text, beginningOf(bytes).length) : text,
    ...(cut ? { cut: true } : {}),
  }
}

/** Ends before a character that would be cut in two. */
function beginningOf(bytes: Buffer): string {
  let end = MAX_RESULT_BYTES
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}

/** It may have been done, as `reason` says; `text` is what the other side answered, where it did. */
export function uncertain(
  reason: string,
  { text = reason, status }: { text?: string; status?: number } = {},
): ToolOutcome {
  const result = { ...resultOf('failed', `${MAY_HAVE_RUN} ${text}`, status), uncertain: true as const }
  return { kind: 'uncertain', reason, result }
}

export function failed(text: string, status?: number): ToolOutcome {
  return { kind: 'answered', result: resultOf('failed', text, status) }
}

type Named = Pick<ToolCall, 'tool' | 'of' | 'args'>

/**
 * Why a call of a model is not made: one of the same tool with the same arguments may have been done in the same
 * message. Undefined where it is made.
 */
export function whyNotRepeated(turns: readonly Pick<Turn, 'calls'>[], call: Named): string | undefined {
  const uncertain = turns.flatMap(({ calls }) => calls).filter(({ result }) => result?.uncertain === true)
  return uncertain.some((earlier) => isSame(earlier, call)) ? REFUSED : undefined
}

function isSame(one: Named, other: Named): boolean {
  const isOneTool =
    one.of === undefined || other.of === undefined
      ? one.tool === other.tool
      : one.of.name === other.of.name && one.of.action === other.of.action
  return isOneTool && isDeepStrictEqual(argumentsOf(one), argumentsOf(other))
}
