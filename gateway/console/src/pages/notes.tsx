import { useLayoutEffect, useRef } from 'preact/hooks'
import { call, listAll } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Failure, Time } from '../components/basics.tsx'
import { Linked } from '../components/formatted.tsx'
import { useSubmit } from '../components/submit.ts'
import { useDraft } from '../drafts.ts'
import { t } from '../language.ts'
import { type Loaded, useLoad } from '../load.ts'
import { may } from '../rights.ts'
import type { LiveEvent } from '../shared-stream.ts'
import type { Note, Thread } from '../threads.ts'

const MOST_SHOWN = 1_000

const pathOf = ({ _id }: Thread): string => `/rest/threads/${_id}/notes`

/** Loads the notes of the team on a conversation, live. */
export const useNotes = (thread: Thread, isOf: (data: LiveEvent['data']) => boolean): Loaded<Note[]> =>
  useLoad(pathOf(thread), () => listAll<Note>(pathOf(thread), { limit: MOST_SHOWN }), {
    everyMs: 15_000,
    live: ({ event, data }) => event === 'thread' && isOf(data),
  })

/** A note among what was said. */
export function NoteBubble({
  note: { _id, at, by, text },
  thread,
  reload,
}: {
  note: Note
  thread: Thread
  reload(): void
}) {
  const remove = async () => {
    await call('DELETE', `${pathOf(thread)}/${_id}`)
    reload()
  }
  return (
    <>
      <div class="bubble note-bubble">
        <p>
          <Linked text={text} />
        </p>
      </div>
      <p class="under">
        <span>{t('Note of {name}, for the team only', { name: by.name })}</span>
        <Time at={at} />
        {may('write', 'threads') && (
          <Button small label={t('Delete the note {text}', { text: text.slice(0, 40) })} onClick={remove}>
            {t('Delete')}
          </Button>
        )}
      </p>
    </>
  )
}

interface NoteBoxProps {
  thread: Thread
  onSaved(): void
  onClose(): void
}

/** Where a note is written, in the place of the reply: what is typed here never leaves to the person. */
export function NoteBox({ thread, onSaved, onClose }: NoteBoxProps) {
  const [text = '', setText] = useDraft<string>(`note.${thread._id}`)
  const area = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => area.current?.focus(), [])
  const { busy, error, submit } = useSubmit(async () => {
    if (text.trim() === '') return
    await call('POST', pathOf(thread), { body: { text } })
    setText((now) => (now === text ? undefined : now))
    onSaved()
    onClose()
  })
  return (
    <form class="reply noting" onSubmit={submit} data-passing>
      <div class="reply-head">
        <strong>{t('Note')}</strong>
        <p class="note">{t('Only the team sees it')}</p>
      </div>
      <textarea
        ref={area}
        aria-label={t('A note for the team')}
        placeholder={t('Enter saves it')}
        rows={3}
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value
          setText(() => typed || undefined)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose()
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) void submit(event)
        }}
      />
      <Failure error={error} />
      <div class="actions end">
        <Button onClick={onClose}>{t('Back')}</Button>
        <Button type="submit" kind="primary" disabled={busy || text.trim() === ''}>
          {t('Save the note')}
        </Button>
      </div>
    </form>
  )
}
