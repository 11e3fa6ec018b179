import type { CannedReply } from '@parley/shared/documents/canned-reply'
import { useId, useState } from 'preact/hooks'
import { listAll } from '../api.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { may, me } from '../rights.ts'
import { nameOf, type Thread } from '../threads.ts'

const MOST_LISTED = 8
/** A word behind a slash at the beginning of a reply, or behind a space, up to where one types. */
const ASKED = /(?:^|\s)\/([^\s/]*)$/

interface Choice {
  /** The replies that are offered; empty while nothing is asked for. */
  replies: CannedReply[]
  /** Which of them Enter takes. */
  at: number
  id: string
  move(step: number): void
  close(): void
  /** The text with the reply in the place of what asked for it. */
  filled(reply: CannedReply): string
}

/** The canned replies that a text asks for by `/` and the beginning of a name or a word. */
export function useCannedReplies(text: string, thread: Thread): Choice {
  const id = useId()
  const isReadable = may('read', 'replies')
  const [at, setAt] = useState(0)
  const [closedAt, setClosedAt] = useState<string>()
  const [, word] = ASKED.exec(text) ?? []
  const isAsked = isReadable && word !== undefined && closedAt !== text
  const { data = [] } = useLoad(`canned replies ${isAsked}`, async () =>
    isAsked ? listAll<CannedReply>('/rest/replies') : [],
  )
  const replies = isAsked ? matching(data, word) : []
  return {
    ...{ replies, id, at: Math.min(at, Math.max(0, replies.length - 1)) },
    move: (step) => setAt((now) => (now + step + replies.length) % replies.length),
    close: () => setClosedAt(text),
    filled: (reply) => text.replace(/\/[^\s/]*$/, () => withNames(reply.text, thread)),
  }
}

/** Those whose name begins so first, then those that have it anywhere. */
function matching(all: CannedReply[], word: string): CannedReply[] {
  const sought = word.toLowerCase()
  const begins = ({ name }: CannedReply) => name.toLowerCase().startsWith(sought)
  const has = ({ name, text }: CannedReply) => `${name} ${text}`.toLowerCase().includes(sought)
  return [...all.filter(begins), ...all.filter((one) => !begins(one) && has(one))].slice(0, MOST_LISTED)
}

const withNames = (text: string, thread: Thread): string =>
  text.replaceAll(/\{\{\s*(name|me)\s*\}\}/g, (_, of) =>
    of === 'me' ? (me.get()?.name ?? '') : nameOf(thread),
  )

/** The list of what is offered, over the text. */
export function CannedReplies({ choice, onChoose }: { choice: Choice; onChoose(reply: CannedReply): void }) {
  const { replies, at, id } = choice
  if (replies.length === 0) return null
  return (
    <div class="canned" role="listbox" id={id} aria-label={t('Canned replies')}>
      {replies.map((reply, index) => (
        <div
          key={reply._id}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onMouseDown={(event) => {
            // The text keeps the focus.
            event.preventDefault()
            onChoose(reply)
          }}
        >
          <strong>/{reply.name}</strong> <span class="quiet">{reply.text}</span>
        </div>
      ))}
    </div>
  )
}
