import { isDeepStrictEqual } from 'node:util'
import { exactOrUndefined } from '@parley/shared/parse-json'
import type { ToolCall, Turn } from '../../message/turn.ts'

const REFUSED =
  'The same call was made before, and may have been done: it is not made again. Look up whether it was done, or say that it is not known.'

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

/** What is no JSON is compared as it is written. */
const argumentsOf = ({ args }: Named): unknown => exactOrUndefined(args) ?? args
