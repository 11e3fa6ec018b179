import type { ThreadLog } from '../src/conversations/thread-log.ts'
import type { KnownThreads } from '../src/deliver/message-run.ts'
import type { NonSpeech } from '../src/intake/non-speech.ts'

/** Threads that no person has, and whose window for free text is open. */
export const noThreads: KnownThreads = { isWithPerson: async () => false, isOutsideWindow: async () => false }

/** For tests that don't look at the documents of threads. */
export const noThreadLog: Pick<ThreadLog, 'touch' | 'open' | 'isWhole' | 'release' | 'abandon'> = {
  touch: () => {},
  open: () => {},
  isWhole: () => true,
  release: async () => {},
  abandon: () => {},
}

/** For tests in which all that comes in is speech. */
export const noNonSpeech: NonSpeech = {
  begin: async () => false,
  settle: () => Promise.reject(new Error('all is speech')),
}
