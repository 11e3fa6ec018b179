import type { Parley, ServerEvent } from '@parley/client'
import { warnOfRetry } from './output.ts'

interface Options {
  json?: true | undefined
  signal?: AbortSignal
  onOpen(): void
}

/** The events of a path. While it can't be reached that is said, once for each time that it was open. */
export function openStream(
  parley: Parley,
  path: string,
  { json, signal, onOpen }: Options,
): AsyncGenerator<ServerEvent> {
  let isWarned = false
  return parley.events(path, {
    ...(signal && { signal }),
    onOpen() {
      isWarned = false
      onOpen()
    },
    onRetry() {
      if (!isWarned) warnOfRetry({ json })
      isWarned = true
    },
  })
}
