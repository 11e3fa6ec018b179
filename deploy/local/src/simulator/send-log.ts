import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { openJournal } from './journal.ts'
import type { Components } from './template-components.ts'

const MAX_NUMBERS = 10_000

/** One send that was accepted. */
export interface LoggedSend {
  /** Counts up from 1 over all phone numbers. */
  n: number
  at: string
  /** The message id in the response. */
  id: string
  phoneNumberId: string
  /** The digits of a number, or the id of a person without one. */
  to: string
  /** `biz_opaque_callback_data`. */
  opaque: string | null
  /** `template`, `text`, or another type of Meta's. */
  type: string
  template?: string
  language?: string
  /** The texts of the template's body, in order. */
  variables?: string[]
  /** The components of a template, where it was given more than these texts. */
  components?: Components
  text?: string
  /** The message that it replies to. */
  quoted?: string
  /** Of another type, what stands under its name. */
  content?: unknown
}

export type NewSend = Omit<LoggedSend, 'n' | 'at' | 'id'>

export interface SendLog {
  /** Records a send; resolves once it is stored. */
  add(send: NewSend): Promise<LoggedSend>
  /** At most `limit` sends with an `n` above `after`, oldest first; of one phone number where one is given. */
  list(query: { after: number; limit: number; phoneNumberId?: string | undefined }): LoggedSend[]
  /** All stored sends; of one phone number where one is given. */
  all(phoneNumberId?: string): LoggedSend[]
  /** The highest `n` given out. */
  last(): number
  close(): Promise<void>
}

const MAX_SENDS = 500_000
// Trimming moves the whole array, so it is done in steps.
const TRIM_STEP = 50_000

/** Opens the log of accepted sends: the newest 500,000 in memory, and in `directory` for the next start. */
export async function openSendLog({ directory }: { directory: string | undefined }): Promise<SendLog> {
  const sends: LoggedSend[] = []
  const remember = (send: LoggedSend) => {
    sends.push(send)
    if (sends.length >= MAX_SENDS + TRIM_STEP) sends.splice(0, TRIM_STEP)
  }
  const journal = directory
    ? await openJournal({
        directory,
        name: 'sends',
        maxLines: MAX_SENDS,
        onEntry: (entry) => remember(entry as LoggedSend),
      })
    : undefined
  let last = sends.at(-1)?.n ?? 0
  const all: SendLog['all'] = (phoneNumberId) =>
    phoneNumberId === undefined ? sends : sends.filter((send) => send.phoneNumberId === phoneNumberId)
  return {
    async add(content) {
      const id = `wamid.${randomBytes(24).toString('base64url')}`
      const send = { n: ++last, at: new Date().toISOString(), id, ...content }
      await journal?.append(send)
      remember(send)
      return send
    },
    list({ after, limit, phoneNumberId }) {
      const found: LoggedSend[] = []
      for (let at = firstAfter(sends, after); at < sends.length && found.length < limit; at++) {
        const send = sends[at]
        if (send && (phoneNumberId === undefined || send.phoneNumberId === phoneNumberId)) found.push(send)
      }
      return found
    },
    all,
    last: () => last,
    close: async () => journal?.close(),
  }
}

/** The position of the first send with an `n` above `after`; they are in order of `n`. */
function firstAfter(sends: readonly LoggedSend[], after: number): number {
  let [low, high] = [0, sends.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sends[middle]?.n ?? 0) > after) high = middle
    else low = middle + 1
  }
  return low
}

/** Counts of the sends that were not simply answered. */
interface Troubles {
  /** How many sends were refused, by Meta's code. */
  refused: Record<string, number>
  /** How many were accepted without a response. */
  dropped: number
  /** Posts to webhooks that were answered, and what the responses count, by their own names. */
  webhook: { posted: number; [count: string]: number }
}

export interface TroubleLog {
  refused(phoneNumberId: string, code: number): void
  dropped(phoneNumberId: string): void
  /** So many messages and statuses were posted, and the response counts them so. */
  counted(phoneNumberId: string, posted: number, counts: Readonly<Record<string, number>>): void
  /** Of one phone number where one is given, else of all. */
  troubles(phoneNumberId?: string): Troubles
}

/** Counts what was refused, dropped or posted since the simulator started. */
export function createTroubleLog(): TroubleLog {
  const none = (): Troubles => ({ refused: {}, dropped: 0, webhook: { posted: 0 } })
  const numbers = new LRUCache<string, Troubles>({ max: MAX_NUMBERS })
  const all = none()
  const both = (phoneNumberId: string): Troubles[] => {
    const own = numbers.get(phoneNumberId) ?? none()
    numbers.set(phoneNumberId, own)
    return [own, all]
  }
  return {
    refused(phoneNumberId, code) {
      for (const { refused } of both(phoneNumberId)) refused[code] = (refused[code] ?? 0) + 1
    },
    dropped(phoneNumberId) {
      for (const troubles of both(phoneNumberId)) troubles.dropped++
    },
    counted(phoneNumberId, posted, counts) {
      for (const { webhook } of both(phoneNumberId)) {
        webhook.posted += posted
        for (const [name, count] of Object.entries(counts)) webhook[name] = (webhook[name] ?? 0) + count
      }
    },
    troubles: (phoneNumberId) => (phoneNumberId === undefined ? all : (numbers.get(phoneNumberId) ?? none())),
  }
}
